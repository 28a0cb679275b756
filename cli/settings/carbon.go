package settings

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
	"github.com/tsdbridge/tsdbridge/graphite/pipeline"
)

// carbonFlags adds the flags of carbon's listeners. future becomes whether --carbon.max-future is set.
func carbonFlags(f define, o *pipeline.Options, future *bool) {
	f("carbon.listen-address", "Address of the listener for carbon's plaintext lines, such as :2003; empty: none.").Default(o.ListenAddress).StringVar(&o.ListenAddress)
	f("carbon.pickle-listen-address", "Address of the listener for carbon's pickle protocol, which carbon-relay and carbon-aggregator send, such as :2004; empty: none.").Default(o.PickleAddress).StringVar(&o.PickleAddress)
	f("carbon.protobuf-listen-address", "Address of the listener for carbon's protobuf protocol; empty: none.").Default(o.ProtobufAddress).StringVar(&o.ProtobufAddress)
	f("carbon.max-frame-bytes", "Length of a frame of pickle or protobuf, at most 64MiB. A sender of a longer one is disconnected. While a frame of pickle is read, it may take up to 32 times its length of memory, on each core.").Default(flagvalue.SizeText(int64(o.FrameBytes))).SetValue((*flagvalue.IntSize)(&o.FrameBytes))
	f("carbon.whitelist", "File whitelist.conf of carbon: regular expressions, a line each. Points of names in which none is found are dropped and counted. It is read again when it changes; so are the next two.").Default(o.Whitelist).StringVar(&o.Whitelist)
	f("carbon.blacklist", "File blacklist.conf of carbon: points of names in which one of its regular expressions is found are dropped and counted.").Default(o.Blacklist).StringVar(&o.Blacklist)
	f("carbon.rewrite-rules", "File rewrite-rules.conf of carbon: what is replaced in names, in its sections [pre] and [post].").Default(o.Rewrites).StringVar(&o.Rewrites)
	a := &o.Aggregation
	f("carbon.aggregation-rules", "File aggregation-rules.conf of carbon: which metrics are computed of others, as carbon-aggregator does. It is read again when it changes. A line that is no rule refuses the start.").PlaceHolder("FILE").StringVar(&a.Rules)
	f("carbon.aggregation-forward-all", "Store the points themselves in addition to what is computed of them; carbon's FORWARD_ALL.").Default(strconv.FormatBool(a.ForwardAll)).BoolVar(&a.ForwardAll)
	f("carbon.aggregation-max-intervals", "Intervals before the present one whose aggregates late points still change; carbon's MAX_AGGREGATION_INTERVALS.").Default(text(a.MaxIntervals)).IntVar(&a.MaxIntervals)
	f("carbon.aggregation-write-back", "How often aggregates are stored, if the frequency of their rule is longer: whole seconds; 0: once in that. Carbon's WRITE_BACK_FREQUENCY.").Default(a.WriteBack.String()).DurationVar(&a.WriteBack)
	f("carbon.aggregation-max-bytes", "Memory for the values that aggregates are computed of. Points beyond it are missing in aggregates, and counted.").Default(flagvalue.SizeText(a.MaxBytes)).SetValue((*flagvalue.Size)(&a.MaxBytes))
	w := &o.Forward
	f("carbon.forward", "host:port of another carbon that the points of carbon's listeners are sent to, in addition to being stored. It may be given several times: each gets all points. What it does not take waits in a spool on the disk.").PlaceHolder("HOST:PORT").StringsVar(&w.Addresses)
	f("carbon.forward-points", "Which points are sent: received (as carbon-relay: those that the lists take, under the names that came) or stored (as carbon-aggregator: renamed, and with aggregates).").Default(w.Points).EnumVar(&w.Points, "received", "stored")
	f("carbon.forward-protocol", "How points are sent: pickle or line.").Default(w.Protocol).EnumVar(&w.Protocol, "pickle", "line")
	f("carbon.forward-path", "Directory of the spools; empty: forward in --storage.path.").StringVar(&w.Path)
	f("carbon.forward-max-bytes", "Size limit of each spool. What a full one does not take is dropped, and counted.").Default(flagvalue.SizeText(w.MaxBytes)).SetValue((*flagvalue.Size)(&w.MaxBytes))
	f("carbon.udp", "Listen on UDP in addition to TCP.").Default(strconv.FormatBool(o.UDP)).BoolVar(&o.UDP)
	f("carbon.max-connections", "TCP connections of each port at once. When there are more, the one that has been silent for longest is closed.").Default(text(o.MaxConnections)).IntVar(&o.MaxConnections)
	f("carbon.idle-timeout", "Time without a line after which a connection is closed; 0: never.").Default(o.IdleTimeout.String()).DurationVar(&o.IdleTimeout)
	f("carbon.keep-open", "Skip lines for which carbon closes the connection (over 16384 bytes, no UTF-8, an endless time), and items of frames likewise.").Default(strconv.FormatBool(o.KeepOpen)).BoolVar(&o.KeepOpen)
	f("carbon.max-future", "How far ahead of the clock a point of carbon may be; 0: any time.").Default(o.MaxFuture.String()).IsSetByUser(future).DurationVar(&o.MaxFuture)
}
