package opentsdb_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestLimits bounds the points of queries by metric. The file is read again when it changes.
func TestLimits(t *testing.T) {
	file := filepath.Join(t.TempDir(), "limits.json")
	write := func(text string, modified time.Time) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"regex":"^small\\.","byteLimit":0,"dataPointsLimit":2},{"regex":"large","dataPointsLimit":0}]`, time.Unix(1, 0))
	var clock atomic.Int64
	clock.Store(time.Now().Unix())
	address := tsdtest.StartWith(t, func(o *opentsdb.Options) {
		o.LimitsFile, o.MaxPoints, o.Now = file, 4, func() time.Time { return time.Unix(clock.Load(), 0) }
	})
	var lines strings.Builder
	for _, metric := range []string{"small.a", "large.b", "c"} {
		for i := range 5 {
			lines.WriteString("put " + metric + " 135699840" + string(rune('0'+i)) + " 1 a=b\n")
		}
	}
	if said := tsdtest.Tell(t, address, lines.String()); said != "" {
		t.Fatal(said)
	}
	check := func(metric string, end, want int) {
		t.Helper()
		status, text := tsdtest.Ask(t, "GET", "http://"+address+"/api/query?start=1356998400&end=135699840"+string(rune('0'+end))+"&m=sum:1s-sum:"+metric, "")
		if status != want || want != http.StatusOK && !strings.Contains(text, "data points") {
			t.Errorf("%s until %d: %d %s, want %d", metric, end, status, text, want)
		}
	}
	check("large.b", 4, http.StatusOK)
	check("small.a", 4, http.StatusRequestEntityTooLarge)
	check("c", 4, http.StatusRequestEntityTooLarge)
	write(`[{"regex":"small","dataPointsLimit":100}]`, time.Unix(2, 0))
	check("small.a", 4, http.StatusRequestEntityTooLarge)
	clock.Add(61)
	check("small.a", 4, http.StatusOK)
	write(`[{"regex":"(`, time.Unix(3, 0))
	clock.Add(61)
	check("small.a", 4, http.StatusOK)
}
