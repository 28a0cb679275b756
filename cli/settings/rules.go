package settings

import (
	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// ruleFlags adds the flags of rules and alerts.
func ruleFlags(f define, all *adapter.Options) {
	o := &all.Prometheus.Rules
	f("rules.alert.for-outage-tolerance", "Longest outage after which the state of alerts with \"for\" is restored.").Default(o.OutageTolerance.String()).DurationVar(&o.OutageTolerance)
	f("rules.alert.for-grace-period", "Shortest time between a restored state of an alert and its firing. Only alerts with a longer \"for\" are restored.").Default(o.GracePeriod.String()).DurationVar(&o.GracePeriod)
	f("rules.alert.resend-delay", "Shortest time before an alert is sent to an Alertmanager again.").Default(o.ResendDelay.String()).DurationVar(&o.ResendDelay)
	f("alertmanager.notification-queue-capacity", "Alerts that wait for an Alertmanager at most. The oldest give way; they are sent again after the resend delay.").Default(text(o.QueueCapacity)).IntVar(&o.QueueCapacity)
}

// remoteWriteFlags adds the flags of what is sent to other servers.
func remoteWriteFlags(f define, all *adapter.Options) {
	o := &all.RemoteWrite
	f("remote-write.path", "Directory of the spools of what is sent on by remote_write (configuration file); empty: remote-write in --storage.path.").StringVar(&o.Path)
	f("remote-write.max-bytes", "Size limit of the spool of each destination of remote_write. What a full one does not take is stored, but not sent, and counted.").Default(flagvalue.SizeText(o.MaxBytes)).SetValue((*flagvalue.Size)(&o.MaxBytes))
}
