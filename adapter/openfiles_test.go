package adapter

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// Each port and the store keep a share of the files that the process may have open.
func TestFitOpenFiles(t *testing.T) {
	for limit, want := range map[int]string{
		0:       "http 512, carbon 1000, opentsdb 1000, store 1000: 0 lowered",
		1 << 20: "http 512, carbon 1000, opentsdb 1000, store 1000: 0 lowered",
		10_000:  "http 512, carbon 1000, opentsdb 1000, store 1000: 0 lowered",
		4096:    "http 512, carbon 582, opentsdb 582, store 1000: 2 lowered",
		1024:    "http 102, carbon 102, opentsdb 102, store 256: 3 lowered",
		256:     "http 25, carbon 25, opentsdb 25, store 64: 3 lowered",
		8:       "http 1, carbon 1, opentsdb 1, store 2: 3 lowered",
	} {
		var log strings.Builder
		o := DefaultOptions()
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.ListenAddress, o.Carbon.ListenAddress, o.Carbon.PickleAddress, o.Carbon.ProtobufAddress, o.OpenTSDB.ListenAddress = ":0", ":0", ":0", ":0", ":0"
		o.fitOpenFiles(limit)
		got := fmt.Sprintf("http %d, carbon %d, opentsdb %d, store %d: %d lowered", o.MaxConnections, o.Carbon.MaxConnections, o.OpenTSDB.MaxConnections, o.StoreFiles, strings.Count(log.String(), "LimitNOFILE"))
		if got != want {
			t.Errorf("limit %d: %s, want %s", limit, got, want)
		}
		all := o.MaxConnections + 3*o.Carbon.MaxConnections + o.OpenTSDB.MaxConnections + o.StoreFiles
		if limit > 64 && all > limit {
			t.Errorf("limit %d: %d files", limit, all)
		}
	}
	// Ports that are not listened on take no share.
	o := DefaultOptions()
	o.ListenAddress, o.OpenTSDB.ListenAddress = ":0", ""
	o.Carbon.ListenAddress, o.Carbon.PickleAddress, o.Carbon.ProtobufAddress = "", "", ""
	if o.fitOpenFiles(1024); o.MaxConnections != 512 {
		t.Errorf("http alone: %d", o.MaxConnections)
	}
}
