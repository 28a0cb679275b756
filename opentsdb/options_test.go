package opentsdb

import (
	"strings"
	"testing"
	"time"
)

// What cannot work is named by its flag.
func TestValidate(t *testing.T) {
	listener := func(change func(*Options)) error {
		o := DefaultOptions()
		change(&o)
		return o.Validate()
	}
	api := func(change func(*APIOptions)) error {
		o := DefaultAPIOptions()
		change(&o)
		return o.Validate()
	}
	ingest := func(change func(*IngestOptions)) error {
		o := DefaultIngestOptions()
		change(&o)
		return o.Validate()
	}
	for _, c := range []struct {
		flag string // "" for none
		err  error
	}{
		{"", listener(func(*Options) {})},
		{"--opentsdb.listen-address", listener(func(o *Options) { o.Address = "4242" })},
		{"--opentsdb.max-connections", listener(func(o *Options) { o.MaxConnections = 0 })},
		{"--opentsdb.idle-timeout", listener(func(o *Options) { o.IdleTimeout = -time.Second })},
		{"opentsdb: MaxLine", listener(func(o *Options) { o.MaxLine = 10 })},
		{"opentsdb: ReadBuffer", listener(func(o *Options) { o.MaxLine, o.ReadBuffer = 4096, 8192 })},
		{"", api(func(*APIOptions) {})},
		{"opentsdb: BodyBytes", api(func(o *APIOptions) { o.BodyBytes = 0 })},
		{"opentsdb: Points", api(func(o *APIOptions) { o.Points = 0 })},
		{"opentsdb: Requests", api(func(o *APIOptions) { o.Requests = 0 })},
		{"opentsdb: Timeout", api(func(o *APIOptions) { o.Timeout = 0 })},
		{"opentsdb: InFlightBytes", api(func(o *APIOptions) { o.InFlightBytes = o.BodyBytes })},
		{"", ingest(func(*IngestOptions) {})},
		{"--storage.series-cache", ingest(func(o *IngestOptions) { o.CacheEntries = 0 })},
		{"--opentsdb.max-tags", ingest(func(o *IngestOptions) { o.MaxTags = 0 })},
	} {
		switch {
		case c.flag == "" && c.err != nil:
			t.Errorf("the default is refused: %v", c.err)
		case c.flag != "" && (c.err == nil || !strings.HasPrefix(c.err.Error(), c.flag)):
			t.Errorf("%s: error %v", c.flag, c.err)
		}
	}
}
