package httpapi

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A Statistic is what a TSD's statistics say in one line: "tsd.name timestamp value host=… tags". Tags is
// empty or "key=value", with blanks between several.
type Statistic struct {
	Name  string
	Value int64
	Tags  string
}

// Line appends a statistic as telnet and /stats show it.
func (s Statistic) Line(b []byte, now time.Time, host string) []byte {
	b = fmt.Appendf(b, "tsd.%s %d %d host=%s", s.Name, now.Unix(), s.Value, host)
	if s.Tags != "" {
		b = append(append(b, ' '), s.Tags...)
	}
	return append(b, '\n')
}

// Document is a statistic in JSON, as a point of a put has it.
func (s Statistic) Document(now time.Time, host string) any {
	tags := map[string]string{"host": host}
	for tag := range strings.FieldsSeq(s.Tags) {
		key, value, _ := strings.Cut(tag, "=")
		tags[key] = value
	}
	return map[string]any{"metric": "tsd." + s.Name, "timestamp": now.Unix(), "value": strconv.FormatInt(s.Value, 10), "tags": tags}
}
