package adapter

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
)

// TestHBasePressure writes to an HBase that stops answering: senders are asked to come again, and
// then everything is stored.
func TestHBasePressure(t *testing.T) {
	o := DefaultOptions()
	c := startHBase(t, o)
	o.Engine, o.ZooKeeper, o.HBaseTimeout = tables.EngineHBase, c.ZooKeeper(), 300*time.Millisecond
	o.ListenAddress, o.Path = "127.0.0.1:0", t.TempDir()
	a, _ := runAdapter(t, o)
	url := "http://" + a.Addr()

	if res := postText(t, url, `{__name__="up"} 1@1000000`); res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
		t.Fatalf("write: %s", res.Status)
	}
	hold := make(chan struct{})
	var silent atomic.Bool
	silent.Store(true)
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if r.Method == "Multi" && r.Table == o.TableData && silent.Load() {
			return hbasetest.Fault{Hold: hold}
		}
		return hbasetest.Fault{}
	})
	for range 3 {
		begin := time.Now()
		res := postText(t, url, `{__name__="up"} 2@2000000`)
		after, err := strconv.Atoi(res.Header.Get("Retry-After"))
		if res.StatusCode != http.StatusServiceUnavailable || err != nil || after < 1 || after > 5 {
			t.Errorf("HBase is silent: %s, Retry-After %q, want 503 and some seconds", res.Status, res.Header.Get("Retry-After"))
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("the sender waited for %v", took)
		}
	}
	silent.Store(false)
	close(hold)
	if res := postText(t, url, `{__name__="up"} 2@2000000 3@3000000`); res.StatusCode/100 != 2 {
		t.Errorf("HBase answers again: %s", res.Status)
	}
	res, err := http.Get(url + "/api/v1/query?query=up[1h]&time=3600")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if want := `[[1000,"1"],[2000,"2"],[3000,"3"]]`; err != nil || !strings.Contains(string(body), want) {
		t.Errorf("query: %v %s, want %s", err, body, want)
	}
}

// postText sends a text in the language of parseWrite as remote write 1.0.
func postText(t *testing.T, url, text string) *http.Response {
	t.Helper()
	q, err := promtest.ParseWrite(text)
	if err != nil {
		t.Fatal(err)
	}
	m := q.V1()
	res, err := http.Post(url+"/api/v1/write", "application/x-protobuf", bytes.NewReader(snappy.Encode(nil, promtest.Marshal(t, &m))))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	return res
}
