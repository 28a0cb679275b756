package formats

import (
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// writeCSV writes a line of name, time and value for each point, as Python's csv does in its dialect
// excel. Times are in the zone of the request; a slot without a point has no value.
func writeCSV(j *pyjson.Writer, list []*series.Series, zone *time.Location) {
	for _, s := range list {
		name := s.Name
		if s.Unnamed {
			name = ""
		}
		name = csvField(name)
		for at, v := range s.Points() {
			j.Next()
			j.Text(name)
			j.Buf = append(j.Buf, ',')
			j.Buf = time.Unix(at, 0).In(zone).AppendFormat(j.Buf, time.DateTime)
			j.Buf = append(j.Buf, ',')
			j.Buf = appendPythonFloat(j.Buf, v, "")
			j.Buf = append(j.Buf, "\r\n"...)
		}
	}
}

// csvField quotes what would end a field.
func csvField(text string) string {
	if !strings.ContainsAny(text, "\",\r\n") {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}
