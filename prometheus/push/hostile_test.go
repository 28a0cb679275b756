package push

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
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
		{"bad lines of a long family", "x\n", 200_000, "more than 100000 bad lines"},
		{"other bad lines", "{\n", 1 << 20, "more than 100000 bad lines"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var packed bytes.Buffer
			z := gzip.NewWriter(&packed)
			if tc.name == "bad lines of a long family" {
				if _, err := z.Write([]byte("# TYPE " + strings.Repeat("a", 1<<20) + " counter\n")); err != nil {
					t.Fatal(err)
				}
			}
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

// A counting appender counts the bytes of the series that come at once.
type counting struct {
	storage.Appender

	most int
}

func (c *counting) Resolve(ctx context.Context, all []storage.Series) ([]storage.Ref, []error) {
	n := 0
	for _, s := range all {
		for _, tag := range s.Tags {
			n += len(tag.Value)
		}
	}
	c.most = max(c.most, n)
	return c.Appender.Resolve(ctx, all)
}

// TestLongLabels sends more long labels than may be held at once, with and without bad exemplars.
func TestLongLabels(t *testing.T) {
	for _, exemplar := range []string{"", ` # {a="` + strings.Repeat("x", 200) + `"} 1`} {
		var text strings.Builder
		for i := range 100 {
			fmt.Fprintf(&text, "a_total{n=\"%d\",long=\"%s\"} 1%s\n", i, strings.Repeat("x", 100<<10), exemplar)
		}
		text.WriteString("# EOF\n")
		d := newDoor(t)
		to := &counting{Appender: d.to}
		d.to, d.seriesBytes = to, 1<<20
		_, answer, _ := d.post(t, "/?format=openmetrics", "", "", strings.NewReader(text.String()))
		if !strings.Contains(answer, `"written":100`) {
			t.Errorf("%.500s", answer)
		}
		if to.most > 2*batchBytes {
			t.Errorf("%d bytes of labels at once", to.most)
		}
	}
}

// TestSlow has a text that does not come take the place of one other text, and of no other write.
func TestSlow(t *testing.T) {
	d := newDoor(t)
	d.memory = requestMemory // of all writes, for one text
	h := d.handler()
	body, sender := io.Pipe()
	done := make(chan string)
	go func() {
		_, answer := ask(t, h, "/?format=text", "", "", body)
		done <- answer
	}()
	if _, err := sender.Write([]byte("a 1\n")); err != nil { // it is being read
		t.Fatal(err)
	}
	if status, answer := ask(t, h, "/?format=text", "", "", strings.NewReader("b 1\n")); status != http.StatusServiceUnavailable {
		t.Errorf("%d %s, want 503", status, answer)
	}
	if n := h.o.Intake.Gate().Requests(); n != 1 {
		t.Errorf("%d requests hold a place", n)
	}
	if err := sender.Close(); err != nil {
		t.Fatal(err)
	}
	if answer := <-done; !strings.Contains(answer, `"written":1`) {
		t.Error(answer)
	}
	if status, answer := ask(t, h, "/?format=text", "", "", strings.NewReader("b 1\n")); status != http.StatusOK {
		t.Errorf("%d %s, want 200", status, answer)
	}
}

// A dripping reader gives a byte each second, without an end.
type dripping struct{}

func (dripping) Read(b []byte) (int, error) {
	time.Sleep(time.Second)
	b[0] = '#'
	return 1, nil
}

// TestDripping ends the reading of a text that comes byte by byte.
func TestDripping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		p := &patient{r: dripping{}, control: http.NewResponseController(httptest.NewRecorder())}
		if _, err := io.Copy(io.Discard, p); !errors.Is(err, errSlow) {
			t.Error(err)
		}
		if took := time.Since(begin); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// TestLateText: a text that stops coming, or comes too slowly, is answered 408.
func TestLateText(t *testing.T) {
	for _, err := range []error{errSlow, fmt.Errorf("read: %w", os.ErrDeadlineExceeded)} {
		if own, ok := errors.AsType[httpapi.Error](badBody(err)); !ok || own.Status != http.StatusRequestTimeout || !strings.Contains(own.Error(), "send less") {
			t.Error(own)
		}
	}
}
