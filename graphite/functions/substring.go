package functions

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// substringFamily is substr alone, which aliasByMetric is built on.
func substringFamily() []call.Function {
	return []call.Function{{
		Name: "substr", Group: "Special", Signature: "seriesList, start=0, stop=0",
		Doc:    "Names series after the nodes from start to stop (exclusive; 0 is the end) of the first path in their names.",
		Params: []call.Param{seriesParam("seriesList"), with("start", call.TypeNode, int64(0)), with("stop", call.TypeNode, int64(0))},
		Call: perSeries(func(c *call.Call) ([]*series.Series, error) {
			return substring(c.Series("seriesList"), c.ToInt("start"), c.ToInt("stop")), nil
		}),
	}}
}

// substring takes what is between the last opening and the first closing bracket, and of that the
// nodes up to the first comma.
func substring(list []*series.Series, start, stop int64) []*series.Series {
	for _, s := range list {
		left, right := strings.LastIndexByte(s.Name, '(')+1, strings.IndexByte(s.Name, ')')
		if right < 0 {
			right = len(s.Name)
		}
		nodes := strings.Split(s.Name[left:max(left, right)], ".")
		end := stop
		if stop == 0 {
			end = int64(len(nodes))
		}
		low, high := python.Bounds(start, end, len(nodes))
		name := strings.Join(nodes[low:high], ".")
		if i := strings.IndexByte(name, ','); i >= 0 {
			name = name[:i]
		}
		s.Rename(name)
	}
	return list
}
