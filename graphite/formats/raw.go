package formats

import (
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// writeRaw writes a line for each series: name,start,end,step|value,value…, with None for a slot without a
// point.
func writeRaw(j *pyjson.Writer, list []*series.Series, _ *time.Location) {
	for _, s := range list {
		j.Text(TextName(s))
		for i, n := range []int64{s.Start, s.End, s.Step} {
			j.Buf = append(j.Buf, ',')
			if j.Buf = strconv.AppendInt(j.Buf, n, 10); i == 2 {
				j.Buf = append(j.Buf, '|')
			}
		}
		for i, v := range s.Values {
			j.Next()
			if i > 0 {
				j.Buf = append(j.Buf, ',')
			}
			j.Buf = appendPythonFloat(j.Buf, v, "None")
		}
		j.Buf = append(j.Buf, '\n')
	}
}
