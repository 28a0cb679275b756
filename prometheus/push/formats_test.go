package push

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/jsonlines"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// TestVictoriaMetrics sends what senders of VictoriaMetrics send. A success has no body.
func TestVictoriaMetrics(t *testing.T) {
	now := promtest.Now().UnixMilli()
	line := `{"metric":{"__name__":"a","job":"x"},"values":[1,2.5],"timestamps":[1600000000000,1600000001000]}` + "\n"
	for _, tc := range []struct {
		target, coding, body string
		status               int
		answer, stored       string
	}{
		{"/api/v1/import", "", line, 204, "", "{__name__=\"a\", job=\"x\"} 1600000000000:1 1600000001000:2.5\n"},
		{"/api/v1/import", "gzip", gzipped(t, line), 204, "", "{__name__=\"a\", job=\"x\"} 1600000000000:1 1600000001000:2.5\n"},
		{"/api/v1/import?extra_label=job=ci", "", strings.TrimSpace(line), 204, "", "{__name__=\"a\", job=\"ci\"} 1600000000000:1 1600000001000:2.5\n"},
		{"/api/v1/import", "", "", 204, "", ""},
		{"/api/v1/import", "", "\n\nx\n" + line, 400, `line 3: invalid character`, "{__name__=\"a\", job=\"x\"} 1600000000000:1 1600000001000:2.5\n"},
		{"/api/v1/import", "", strings.Repeat("x", longestLine+1) + "\n" + line, 400, "line 1: line of more than", "{__name__=\"a\", job=\"x\"} 1600000000000:1 1600000001000:2.5\n"},
		{"/api/v1/import", "", `{"metric":{"a":"b"},"values":[1],"timestamps":[1]}` + "\n" + line, 400, `"rejected":1`, "{__name__=\"a\", job=\"x\"} 1600000000000:1 1600000001000:2.5\n"},
		{"/api/v1/import", "", `{"metric":{"__name__":"a"},"values":[1,2],"timestamps":[1600000000000,9999999999999]}`, 400, `"written":1,"rejected":1`, "{__name__=\"a\"} 1600000000000:1\n"},
		{"/api/v1/import/prometheus", "", "a{job=\"x\"} 1 1600000000500\nb 2\n", 204, "", fmt.Sprintf("{__name__=\"a\", job=\"x\"} 1600000000500:1\n{__name__=\"b\"} %d:2\n", now)},
		{"/api/v1/import/prometheus?timestamp=1600000000000&extra_label=job=ci", "", "a 1\n", 204, "", "{__name__=\"a\", job=\"ci\"} 1600000000000:1\n"},
		{"/api/v1/import/prometheus", "", "a 1 1600000000\n", 204, "", "{__name__=\"a\"} 1600000000000:1\n"}, // seconds
		{"/api/v1/import/prometheus?timestamp=x", "", "a 1\n", 400, "want milliseconds", ""},
		{"/api/v1/import/prometheus", "", "a 1 1600000000500\nb x\n", 400, "line 2", "{__name__=\"a\"} 1600000000500:1\n"},
		{"/api/v1/import/native", "", "no export", 400, "no native export of VictoriaMetrics", ""},
		{"/api/v1/import", "zstd", line, 415, "zstd", ""},
	} {
		status, answer, stored := post(t, false, tc.target, "", tc.coding, []byte(tc.body))
		if status != tc.status || !strings.Contains(answer, tc.answer) || tc.status == 204 && answer != "" || stored != tc.stored {
			t.Errorf("%s %.60q: %d %.300s\nstored %.300s\nwant %d %s\n%s", tc.target, tc.body, status, answer, stored, tc.status, tc.answer, tc.stored)
		}
	}
}

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return packed.String()
}

// TestRecorded sends what two versions of VictoriaMetrics have exported of the same data, in both formats. Both become
// the same samples.
func TestRecorded(t *testing.T) {
	for _, version := range []string{"v1.79", "v1.150"} {
		dir := filepath.Join("..", "vmnative", "testdata")
		native, err := os.ReadFile(filepath.Join(dir, version+".native"))
		if err != nil {
			t.Fatal(err)
		}
		packed, err := os.ReadFile(filepath.Join(dir, version+".jsonl.gz"))
		if err != nil {
			t.Fatal(err)
		}
		ofLines, ofNative := recorded(t, "/api/v1/import", "gzip", packed), recorded(t, "/api/v1/import/native", "", native)
		if ofLines != ofNative {
			t.Errorf("%s: the formats differ", version)
		}
		if n := strings.Count(ofLines, "\n"); n != countSeries(t, packed) {
			t.Errorf("%s: %d series", version, n)
		}
	}
}

func recorded(t *testing.T, target, coding string, body []byte) string {
	t.Helper()
	status, answer, stored := post(t, false, target, "", coding, body)
	if status != http.StatusNoContent {
		t.Fatalf("%s: %d %.500s", target, status, answer)
	}
	return stored
}

// countSeries returns how many series lines of JSON have.
func countSeries(t *testing.T, packed []byte) int {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for line := range bytes.Lines(text) {
		l, err := jsonlines.Parse(line)
		if err != nil {
			t.Fatal(err)
		}
		all[l.Labels.String()] = true
	}
	return len(all)
}

// TestCutNative has the good part of a native export stored, and the rest answered for.
func TestCutNative(t *testing.T) {
	native, err := os.ReadFile(filepath.Join("..", "vmnative", "testdata", "v1.150.native"))
	if err != nil {
		t.Fatal(err)
	}
	status, answer, stored := post(t, false, "/api/v1/import/native", "", "", native[:len(native)-100])
	if status != http.StatusBadRequest || !strings.Contains(answer, "unexpected EOF") || stored == "" {
		t.Errorf("%d %s", status, answer)
	}
}

// TestLinesAway has a sender send lines again when the store is away.
func TestLinesAway(t *testing.T) {
	status, answer, _ := post(t, true, "/api/v1/import", "", "", []byte(`{"metric":{"__name__":"a"},"values":[1],"timestamps":[1600000000000]}`))
	if status != http.StatusServiceUnavailable || !strings.Contains(answer, "unavailable") {
		t.Errorf("%d %s", status, answer)
	}
}

// TestHostileLines sends lines that were made to take much memory, and holds none of it after.
func TestHostileLines(t *testing.T) {
	d := newDoor(t)
	values := strings.Repeat("1,", 1<<20) + "1"
	h := d.handler()
	status, answer := ask(t, h, "/api/v1/import", "", "", strings.NewReader(`{"metric":{"__name__":"a"},"values":[`+values+`],"timestamps":[`+values+"]}\n"))
	if status != http.StatusNoContent {
		t.Errorf("%d %.300s", status, answer)
	}
	d.memory = requestMemory + 1<<20
	h = d.handler()
	status, answer = ask(t, h, "/api/v1/import", "", "", strings.NewReader(`{"metric":{"__name__":"a"},"values":[`+values+`],"timestamps":[`+values+"]}\n"))
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %.300s", status, answer)
	}
	if held := h.o.Intake.Gate().Bytes(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
