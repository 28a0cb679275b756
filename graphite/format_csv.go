package graphite

import (
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// writeCSV writes a line of name, time and value for each point, as Python's csv does in its dialect
// excel. Times are in the zone of the request; a slot without a point has no value.
func writeCSV(j *jsonWriter, list []*series.Series, zone *time.Location) {
	for _, s := range list {
		name := s.Name
		if s.Unnamed {
			name = ""
		}
		name = csvField(name)
		for at, v := range s.Points() {
			j.next()
			j.text(name)
			j.buf = append(j.buf, ',')
			j.buf = time.Unix(at, 0).In(zone).AppendFormat(j.buf, time.DateTime)
			j.buf = append(j.buf, ',')
			j.buf = appendPythonFloat(j.buf, v, "")
			j.buf = append(j.buf, "\r\n"...)
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
