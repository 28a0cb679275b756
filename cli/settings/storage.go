package settings

import (
	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// storageFlags adds the flags of the tables and of the engine.
func storageFlags(f define, o *adapter.Options) {
	f("storage.engine", "Where the tables are: embedded (in a directory), memory (lost at the end), hbase.").Default(o.Engine).EnumVar(&o.Engine, tables.EngineEmbedded, tables.EngineMemory, tables.EngineHBase)
	f("storage.path", "Directory of the embedded engine.").Default(o.Path).StringVar(&o.Path)
	f("storage.cache-bytes", "Size of the block cache of the embedded engine.").Default(flagvalue.SizeText(o.CacheBytes)).SetValue((*flagvalue.Size)(&o.CacheBytes))
	f("storage.min-free-bytes", "Free disk space of the embedded engine below which writes are refused (503) until there is more; 0: none.").Default(flagvalue.SizeText(o.MinFreeBytes)).SetValue((*flagvalue.Size)(&o.MinFreeBytes))
	f("storage.retention", "How long the embedded engine keeps points, such as 90d or 2y (units: h, d, w, y); 0: for ever.").Default(flagvalue.AgeText(o.Retention)).SetValue((*flagvalue.Age)(&o.Retention))
	f("hbase.zookeeper", "ZooKeeper quorum of HBase: host:port,...").SetValue((*flagvalue.Quorum)(&o.ZooKeeper))
	f("hbase.root", "Root znode of HBase.").Default(o.HBaseRoot).StringVar(&o.HBaseRoot)
	f("hbase.timeout", "Time limit of one operation on HBase, including waiting and retries.").Default(o.HBaseTimeout.String()).DurationVar(&o.HBaseTimeout)
	f("hbase.append-cells", "Put points into OpenTSDB's append cells, one for each row, as TSDs with tsd.storage.enable_appends do. Rows are read before each write.").BoolVar(&o.HBaseAppendCells)
	f("hbase.compact-after", "How long after the end of its hour a row of single cells is put together into one cell, at least 15m; 0: never. Processes share the work.").Default(o.HBaseCompactAfter.String()).DurationVar(&o.HBaseCompactAfter)
	f("storage.table.data", "Data table.").Default(o.TableData).StringVar(&o.TableData)
	f("storage.table.uid", "UID table.").Default(o.TableUID).StringVar(&o.TableUID)
	f("storage.table.meta", "Meta table.").Default(o.TableMeta).StringVar(&o.TableMeta)
	f("storage.table.tree", "Tree table.").Default(o.TableTree).StringVar(&o.TableTree)
	f("storage.table.archive", "Table of the coarse archives of imported whisper files, which OpenTSDB does not know. On HBase it is needed for these only. Empty: there are none.").Default(o.TableArchive).StringVar(&o.TableArchive)
	f("storage.uid-width.metric", "Bytes of a metric's UID. Every process that uses the tables must have the same value, for ever.").Default(text(o.MetricWidth)).IntVar(&o.MetricWidth)
	f("storage.uid-width.tagk", "Bytes of a tag key's UID.").Default(text(o.TagkWidth)).IntVar(&o.TagkWidth)
	f("storage.uid-width.tagv", "Bytes of a tag value's UID.").Default(text(o.TagvWidth)).IntVar(&o.TagvWidth)
	f("storage.salt.width", "Bytes of salt before a row key; 0: none. Every process that uses the tables must have the same value, for ever.").Default(text(o.SaltWidth)).IntVar(&o.SaltWidth)
	f("storage.salt.buckets", "Number of salt buckets.").Default(text(o.SaltBuckets)).IntVar(&o.SaltBuckets)
	f("storage.values", "Encoding of floats: auto (4 bytes if that loses nothing, else 8; for HTTP puts always 8, as in a TSD), double (always 8; for Prometheus series that TSDs also write over HTTP), compact (whole numbers of up to 4 bytes as integers, the smallest; a TSD then averages them as integers).").Default(o.Values).StringVar(&o.Values)
	f("storage.series-index", "Where series are found: auto (in tsdb-meta, and in row keys for writers that keep no tsdb-meta) or meta (in tsdb-meta only). Matters on hbase only.").Default(o.SeriesIndex).EnumVar(&o.SeriesIndex, "auto", "meta")
	f("storage.uid-random-metrics", "New metrics get UIDs at random instead of counting up: their rows are spread over the regions of a table that is split evenly. OpenTSDB's tsd.core.uid.random_metrics.").BoolVar(&o.RandomMetricUIDs)
	f("storage.rollups", "Rollup tables: a file with the JSON of OpenTSDB's tsd.rollups.config, or the JSON itself. All who use the tables need the same.").PlaceHolder("FILE").StringVar(&o.Rollups)
	f("storage.index-refresh", "Interval at which changes of other processes are read: series, names, trees.").Default(o.IndexRefresh.String()).DurationVar(&o.IndexRefresh)
	f("storage.series-cache", "Entries of each cache of series: one for each protocol (by the bytes on the wire) and those of names and UIDs.").Default(text(o.SeriesCache)).IntVar(&o.SeriesCache)
	f("translate.compat-metrics", "Metric names (anchored regular expression) that are escaped as by Prometheus' old OpenTSDB adapter; repeatable.").PlaceHolder("REGEX").StringsVar(&o.CompatMetrics)
}
