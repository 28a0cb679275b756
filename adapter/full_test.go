package adapter

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/snappy"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// TestFullDisk: on a disk with too little free space, writes are answered 503 in either mode, and
// queries are answered. Everything written before is there.
func TestFullDisk(t *testing.T) {
	for _, mode := range []write.Mode{write.Through, write.Buffered} {
		t.Run(string(mode), func(t *testing.T) {
			o := storeTestOptions(t, mode)
			for n, c := range []struct {
				free   int64 // that the store requires
				status int
			}{{0, 204}, {1 << 60, 503}, {1, 204}} {
				o.MinFreeBytes = c.free
				a, stop := runAdapter(t, o)
				q, err := promtest.ParseWrite(fmt.Sprintf(`{__name__="up", job="a"} 1@%d`, 1000+n))
				if err != nil {
					t.Fatal(err)
				}
				m := q.V1()
				resp, err := http.Post("http://"+a.Addr()+"/api/v1/write", "application/x-protobuf", bytes.NewReader(snappy.Encode(nil, promtest.Marshal(t, &m))))
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != c.status || (resp.Header.Get("Retry-After") != "") != (c.status == 503) {
					t.Errorf("write with %d bytes wanted: %s %v %s", c.free, resp.Status, resp.Header, text)
				}
				if c.status == 503 && !strings.Contains(string(text), "no space on the disk") {
					t.Errorf("answer %q", text)
				}
				resp, err = http.Get("http://" + a.Addr() + "/api/v1/query?time=1&query=up")
				if err != nil {
					t.Fatal(err)
				}
				if text, err = io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(text), `"job":"a"`) {
					t.Errorf("query with %d bytes wanted: %s %s %v", c.free, resp.Status, text, err)
				}
				resp.Body.Close()
				_, ready := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+"/-/ready?verbose", nil)
				if strings.Contains(ready, "writes refused: no space on the disk") != (c.status == 503) {
					t.Errorf("ready with %d bytes wanted: %s", c.free, ready)
				}
				stop()
			}
		})
	}
}
