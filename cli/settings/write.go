package settings

import (
	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// writeFlags adds the flags of writes. future becomes whether --write.max-future is set.
func writeFlags(f define, o *adapter.Options, future *bool) {
	l := &o.Prometheus.Write
	f("write.mode", "When a write is acknowledged: through (the engine has every point) or buffered (a log on the local disk has it; rows are put when they are whole). auto: buffered on the embedded engine, otherwise through. carbon and OpenTSDB puts use the log in both modes.").Default(o.WriteMode).EnumVar(&o.WriteMode, "auto", "through", "buffered")
	f("write.log.path", "Directory of the log; empty: log in --storage.path.").StringVar(&o.LogPath)
	f("write.log.max-bytes", "Size limit of the log. At half of it rows are put early; beyond it writes are refused (503).").Default(flagvalue.SizeText(o.LogBytes)).SetValue((*flagvalue.Size)(&o.LogBytes))
	f("write.buffer.flush-interval", "Age at which points in memory are put into the table before their hour ends; 0: 2h, or 2s if only carbon and OpenTSDB puts use the log.").Default(o.FlushInterval.String()).DurationVar(&o.FlushInterval)
	f("write.buffer.max-bytes", "Memory for points. Beyond it the largest rows are put early; beyond 1.5 times of it writes are refused (503).").Default(flagvalue.SizeText(o.HeadBytes)).SetValue((*flagvalue.Size)(&o.HeadBytes))
	f("write.max-body-bytes", "Size limit of a request of remote write or OTLP, as it is sent and decompressed.").Default(flagvalue.SizeText(int64(l.BodyBytes))).SetValue((*flagvalue.IntSize)(&l.BodyBytes))
	f("write.max-concurrency", "Requests of remote write and OTLP at once; more get 503.").Default(text(l.Requests)).IntVar(&l.Requests)
	f("write.max-in-flight-bytes", "Memory limit of all requests of remote write and OTLP at once: their bodies, and what is made of these; more get 503.").Default(flagvalue.SizeText(int64(l.InFlightBytes))).SetValue((*flagvalue.IntSize)(&l.InFlightBytes))
	f("write.max-future", "How far ahead of the clock a sample of remote write or OTLP may be; 0: any time. If set, it also holds for carbon and OpenTSDB unless their flag is set.").Default(l.Future.String()).IsSetByUser(future).DurationVar(&l.Future)
	f("otlp.grpc-listen-address", "Address of the listener for OTLP over gRPC, such as :4317; empty: none. It has the limits, the TLS and the passwords of the HTTP port.").Default(o.OTLPGRPCAddress).StringVar(&o.OTLPGRPCAddress)
	d := &o.Prometheus.OTLP
	f("write.delta.max-series", "Series of OTLP with delta temporality whose sums are kept in memory, about 150 bytes each. A native histogram counts as one for each 150 bytes. Sums of others are read from the store when they are needed.").Default(text(d.DeltaSeries)).IntVar(&d.DeltaSeries)
	f("write.delta.window", "How old the newest sample of a series in the store may be for a sum of deltas to go on from it, if the sum is not in memory.").Default(d.DeltaWindow.String()).DurationVar(&d.DeltaWindow)
	f("write.type-and-unit-labels", "Give series of OTLP the labels __type__ and __unit__, as Prometheus does with --enable-feature=type-and-unit-labels.").BoolVar(&d.TypeAndUnitLabels)
	f("write.dedup.cluster-label", "Label with the HA pair of Prometheus servers that a series comes from. With --write.dedup.replica-label one replica of each pair is stored. Empty: all are.").StringVar(&l.Dedup.ClusterLabel)
	f("write.dedup.replica-label", "Label with the server of an HA pair that a series comes from. It is removed.").StringVar(&l.Dedup.ReplicaLabel)
	f("write.dedup.failover-timeout", "Silence of the stored replica after which another one of its pair is stored.").Default(l.Dedup.Failover.String()).DurationVar(&l.Dedup.Failover)
	f("write.dedup.max-clusters", "HA pairs that are known at once; series of more are refused by name. One that was silent for 30m gives its place to a new one.").Default(text(l.Dedup.Clusters)).IntVar(&l.Dedup.Clusters)
	f("write.max-active-series", "Series that the process may know. New series beyond it are refused by name; known ones never are. Branches of trees and tags beyond 10 count as parts of a series, by their memory: 9 branches as one. 0: as many as fit a third of the memory of the machine or cgroup; -1: no limit.").Default(text(o.ActiveSeries)).IntVar(&o.ActiveSeries)
	f("write.max-new-branches-per-second", "Branches of trees that new series may make for each second, in addition to 8 for each series, on average over 10 seconds. Series that make more are refused by name. 0: no limit.").Default(text(o.NewBranches)).IntVar(&o.NewBranches)
	f("write.max-new-series-per-second", "New series for each second, on average over 10 seconds; more are refused by name. 0: no limit.").Default(text(o.NewSeries)).IntVar(&o.NewSeries)
	f("write.max-path-depth", "Elements between dots that the metric of a new series may have. Deeper ones are refused by name. 0: no limit; elements beyond 64 branches are then one.").Default(text(o.PathDepth)).IntVar(&o.PathDepth)
}
