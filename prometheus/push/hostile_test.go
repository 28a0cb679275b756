package push

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestHostile sends texts that expand a thousand times, and texts of nothing but bad lines. They end
// early.
func TestHostile(t *testing.T) {
	for _, tc := range []struct {
		name, piece string
		pieces      int
		want        string
	}{
		{"empty lines", "\n", 40 << 20, "expands more than 200 times"},
		{"comments", "# x\n", 10 << 20, "expands more than 200 times"},
		{"types", "# TYPE a counter\n", 3 << 20, "expands more than 200 times"},
		{"one line", "a", 40 << 20, "expands more than 200 times"},
		{"bad lines", "x\n", 1 << 20, "more than 100000 bad lines"},
		{"other bad lines", "{\n", 1 << 20, "more than 100000 bad lines"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			if _, err := z.Write(bytes.Repeat([]byte(tc.piece), tc.pieces)); err != nil {
				t.Fatal(err)
			}
			if err := z.Close(); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			status, answer, _ := post(t, false, "/api/v1/import/openmetrics", "text/plain", "gzip", packed.Bytes())
			took := time.Since(begin)
			t.Logf("%d bytes in %v: %d %.300s", packed.Len(), took, status, answer)
			if status != http.StatusBadRequest || !strings.Contains(answer, tc.want) {
				t.Errorf("%d %.500s, want 400 %s", status, answer, tc.want)
			}
			if took > 30*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}
