package opentsdb

import (
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/put"
)

// The error about options that cannot work names the flag.
func TestValidate(t *testing.T) {
	listener := func(change func(*listenerOptions)) error {
		o := defaultListenerOptions()
		change(&o)
		return o.Validate()
	}
	api := func(change func(*put.HandlerOptions)) error {
		o := put.DefaultHandlerOptions()
		change(&o)
		return o.Validate()
	}
	ingest := func(change func(*put.Options)) error {
		o := put.DefaultOptions()
		change(&o)
		return o.Validate()
	}
	for _, c := range []struct {
		flag string // "" for none
		err  error
	}{
		{"", listener(func(*listenerOptions) {})},
		{"--opentsdb.listen-address", listener(func(o *listenerOptions) { o.Address = "4242" })},
		{"--opentsdb.max-connections", listener(func(o *listenerOptions) { o.MaxConnections = 0 })},
		{"--opentsdb.idle-timeout", listener(func(o *listenerOptions) { o.IdleTimeout = -time.Second })},
		{"opentsdb: MaxLine", listener(func(o *listenerOptions) { o.MaxLine = 10 })},
		{"opentsdb: ReadBuffer", listener(func(o *listenerOptions) { o.MaxLine, o.ReadBuffer = 4096, 8192 })},
		{"", api(func(*put.HandlerOptions) {})},
		{"opentsdb: BodyBytes", api(func(o *put.HandlerOptions) { o.BodyBytes = 0 })},
		{"opentsdb: Points", api(func(o *put.HandlerOptions) { o.Points = 0 })},
		{"opentsdb: Requests", api(func(o *put.HandlerOptions) { o.Requests = 0 })},
		{"opentsdb: Timeout", api(func(o *put.HandlerOptions) { o.Timeout = 0 })},
		{"opentsdb: InFlightBytes", api(func(o *put.HandlerOptions) { o.InFlightBytes = o.BodyBytes })},
		{"", ingest(func(*put.Options) {})},
		{"--storage.series-cache", ingest(func(o *put.Options) { o.CacheEntries = 0 })},
		{"--opentsdb.max-tags", ingest(func(o *put.Options) { o.MaxTags = 0 })},
	} {
		switch {
		case c.flag == "" && c.err != nil:
			t.Errorf("the default is refused: %v", c.err)
		case c.flag != "" && (c.err == nil || !strings.HasPrefix(c.err.Error(), c.flag)):
			t.Errorf("%s: error %v", c.flag, c.err)
		}
	}
}
