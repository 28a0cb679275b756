package graphite

import (
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// writeRaw writes a line for each series: name,start,end,step|value,value…, with None for a slot without a
// point.
func writeRaw(j *jsonWriter, list []*series.Series, _ *time.Location) {
	for _, s := range list {
		j.text(textName(s))
		for i, n := range []int64{s.Start, s.End, s.Step} {
			j.buf = append(j.buf, ',')
			if j.buf = strconv.AppendInt(j.buf, n, 10); i == 2 {
				j.buf = append(j.buf, '|')
			}
		}
		for i, v := range s.Values {
			j.next()
			if i > 0 {
				j.buf = append(j.buf, ',')
			}
			j.buf = appendPythonFloat(j.buf, v, "None")
		}
		j.buf = append(j.buf, '\n')
	}
}
