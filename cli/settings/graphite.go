package settings

import (
	"strconv"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/flagvalue"
)

// graphiteFlags adds the flags of Graphite's names and answers.
func graphiteFlags(f define, o *adapter.GraphiteOptions) {
	f("graphite.storage-schemas", "File storage-schemas.conf of carbon: the steps of series, by name. Without a rule a series has the step of its points.").StringVar(&o.Schemas)
	f("graphite.storage-aggregation", "File storage-aggregation.conf of carbon: how points are aggregated.").StringVar(&o.Aggregation)
	f("graphite.graph-templates", "File graphTemplates.conf of graphite-web: the looks of pictures, by name. Without it there are those that come with graphite-web.").StringVar(&o.GraphTemplates)
	f("graphite.default-tree", "Tree of tsdb-tree in which names without tags are found. It is created with the first one; empty: none.").Default(o.DefaultTree).StringVar(&o.DefaultTree)
	f("graphite.template", "How new dotted names become metric and tags, such as servers.{host}.{metric...}. The first that matches is used; repeatable.").PlaceHolder("TEMPLATE").StringsVar(&o.Templates)
	f("graphite.inverse-trees", "Trees by which new dotted names become metric and tags: all that have an inverse (all), none, or names separated by commas.").Default(o.InverseTrees).StringVar(&o.InverseTrees)
	f("graphite.tree-index", "Where paths are found: memory (all trees are loaded) or table (rows of tsdb-tree are read for each request).").Default(o.TreeIndex).EnumVar(&o.TreeIndex, "memory", "table")
	f("graphite.time-zone", "Time zone of requests that name none.").Default(o.TimeZone).StringVar(&o.TimeZone)
	f("graphite.utf8-metrics", "Accept letters beyond ASCII in unquoted targets; graphite-web's UTF8_METRICS.").Default(strconv.FormatBool(o.UTF8Metrics)).BoolVar(&o.UTF8Metrics)
	f("graphite.hide-after", "Age of the newest point from which find leaves a series out, such as 30d; it is kept, and found again when it sends. 0: none.").Default(flagvalue.AgeText(o.HideAfter)).SetValue((*flagvalue.Age)(&o.HideAfter))
}
