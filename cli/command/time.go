package command

import (
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// ParseTime reads a time of RFC 3339, or one of OpenTSDB's queries.
func ParseTime(text string, now time.Time) (int64, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t.UnixMilli(), nil
	}
	return query.ParseTime(text, time.UTC, now)
}
