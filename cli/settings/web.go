package settings

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// webFlags adds the flags of the HTTP port.
func webFlags(f define, o *adapter.Options) {
	f("web.listen-address", "Address of the HTTP listener; empty: none.").Default(o.ListenAddress).StringVar(&o.ListenAddress)
	f("web.config.file", "File with TLS and basic authentication, in the format of Prometheus' exporter-toolkit.").StringVar(&o.WebConfigFile)
	f("web.external-url", "URL by which browsers reach the HTTP port, for example https://metrics.example.org/tsdb/ behind a proxy. Paths below its path are served as those below /, with or without the proxy cutting it off.").StringVar(&o.ExternalURL)
	f("web.enable-admin-api", "Serve the admin API, which the commands backup, tables compact, tree sync, fsck, meta sync and uid use while the adapter runs, and end queries by their id.").Default(strconv.FormatBool(o.AdminAPI)).BoolVar(&o.AdminAPI)
	f("web.enable-lifecycle", "Load the configuration again on POST /-/reload. SIGHUP does so in any case.").Default(strconv.FormatBool(o.Lifecycle)).BoolVar(&o.Lifecycle)
	f("web.cors-origin", "Origins (anchored regular expression) whose scripts may use the HTTP port; empty: none.").StringVar(&o.CORSOrigin)
	f("web.hosts", "Names by which browsers may reach the HTTP ports, in addition to addresses, localhost, names without a dot and that of --web.external-url: metrics.example.org, *.example.org, or * for every name. Several are separated by commas; repeatable.").PlaceHolder("NAME").StringsVar(&o.Hosts)
	f("web.max-connections", "HTTP connections, and requests, at once. When there are more, the connection that has been silent for longest is closed.").Default(text(o.MaxConnections)).IntVar(&o.MaxConnections)
	f("web.max-body-bytes", "Size limit of a request other than remote write, as it is sent (413). At most four times as much may be under way at once (503).").Default(flagvalue.SizeText(int64(o.WebBodyBytes))).SetValue((*flagvalue.IntSize)(&o.WebBodyBytes))
	f("web.shutdown-grace", "Time for requests under way to finish when the process stops.").Default(o.ShutdownGrace.String()).DurationVar(&o.ShutdownGrace)
}
