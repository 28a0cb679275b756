package settings

import (
	"github.com/tsdbridge/tsdbridge/opentsdb"
)

// opentsdbFlags adds the flags of OpenTSDB's protocols. future becomes whether --opentsdb.max-future is set.
func opentsdbFlags(f define, o *opentsdb.Options, future *bool) {
	f("opentsdb.listen-address", "Address of the listener for OpenTSDB's put, telnet and HTTP on one port, such as :4242; empty: none.").Default(o.ListenAddress).StringVar(&o.ListenAddress)
	f("opentsdb.max-connections", "Connections at once. When there are more, the one that has been silent for longest is closed.").Default(text(o.MaxConnections)).IntVar(&o.MaxConnections)
	f("opentsdb.idle-timeout", "Time without a byte after which a connection is closed; 0: never.").Default(o.IdleTimeout.String()).DurationVar(&o.IdleTimeout)
	f("opentsdb.allow-special-chars", "Characters that names of OpenTSDB's series may have in addition to letters of Latin-1, digits and -_./, such as :%. OpenTSDB's tsd.core.tag.allow_specialchars.").StringVar(&o.SpecialChars)
	f("opentsdb.max-tags", "Tags of a series that is put; OpenTSDB's tsd.storage.max_tags.").Default(text(o.MaxTags)).IntVar(&o.MaxTags)
	f("opentsdb.config", "A TSD's opentsdb.conf. Its keys that have a meaning here are settings that these flags and --config.file win over; those that have none are logged. Tables, widths and salt must not differ.").PlaceHolder("FILE").String()
	f("opentsdb.mode", "rw, ro (no points are taken on this port, and nothing can be edited) or wo (no queries); OpenTSDB's tsd.mode.").Default(o.Mode).EnumVar(&o.Mode, "rw", "ro", "wo")
	f("opentsdb.auto-create-metrics", "Puts of a metric that has no UID give it one; otherwise they are refused. OpenTSDB's tsd.core.auto_create_metrics, which is off by default there.").Default("true").BoolVar(&o.AutoCreate.Metrics)
	f("opentsdb.auto-create-tagks", "The same for tag keys.").Default("true").BoolVar(&o.AutoCreate.TagKeys)
	f("opentsdb.auto-create-tagvs", "The same for tag values.").Default("true").BoolVar(&o.AutoCreate.TagValues)
	f("opentsdb.time-zone", "Time zone of dates in OpenTSDB queries that name none; OpenTSDB's tsd.core.timezone.").Default(o.TimeZone).StringVar(&o.TimeZone)
	f("opentsdb.max-points", "Points that one sub query of OpenTSDB's API may read; 0: --query.max-samples. OpenTSDB's tsd.query.limits.data_points.default.").Default(text(o.MaxPoints)).IntVar(&o.MaxPoints)
	f("opentsdb.limits", "File with limits of points by metric, OpenTSDB's tsd.query.limits.overrides.config. It is read again when it changes.").PlaceHolder("FILE").StringVar(&o.LimitsFile)
	f("opentsdb.histogram-codecs", "Codec of OpenTSDB's histograms with the id that it has in the tables: SimpleHistogramDecoder=0; empty: histograms are neither taken nor read. OpenTSDB's tsd.core.histograms.config.").PlaceHolder("CLASS=ID").StringVar(&o.HistogramCodecs)
	f("opentsdb.rollup-tag", "Tag key for the aggregation by which a value of a group of series was made; OpenTSDB's tsd.rollups.agg_tag_key.").Default(o.Rollup.TagKey).StringVar(&o.Rollup.TagKey)
	f("opentsdb.rollup-raw-tag", "Value of that tag for rolled up values of one series; empty: they do not get it. OpenTSDB's tsd.rollups.raw_agg_tag_value, with tag_raw.").StringVar(&o.Rollup.RawTag)
	f("opentsdb.rollup-split", "Let queries of a rollup table read the points of the newest intervals, as long as values may be missing by delaySla in --storage.rollups. OpenTSDB's tsd.rollups.split_query.enable.").BoolVar(&o.Rollup.Split)
	f("opentsdb.rollup-derived", "Rolled up averages and deviations may be stored; the opposite of OpenTSDB's tsd.rollups.block_derived.").BoolVar(&o.Rollup.AllowDerived)
	f("opentsdb.allow-edits", "Clients of OpenTSDB's API may assign UIDs, and change what else is not points.").BoolVar(&o.AllowEdits)
	f("opentsdb.allow-delete", "Queries of OpenTSDB's API may delete the points that they select; OpenTSDB's tsd.http.query.allow_delete.").BoolVar(&o.AllowDelete)
	f("opentsdb.open-puts", "HTTP puts need no password although the web configuration has some; telnet's never do.").BoolVar(&o.OpenPuts)
	f("opentsdb.cors-domains", "Origin of pages that may use OpenTSDB's API from a browser, such as https://grafana.example.org, or * (pages that are not named cannot edit); repeatable.").PlaceHolder("ORIGIN").StringsVar(&o.CORSDomains)
	f("opentsdb.cors-headers", "Headers that those pages may send.").Default(o.CORSHeaders).StringVar(&o.CORSHeaders)
	f("opentsdb.max-future", "How far ahead of the clock a point that is put may be; 0: any time.").Default(o.MaxFuture.String()).IsSetByUser(future).DurationVar(&o.MaxFuture)
}
