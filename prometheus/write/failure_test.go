package write

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// counters reads the data counters: name without prefix and suffix -> protocol/kind -> value.
func counters(t testing.TB, reg prometheus.Gatherer) map[string]map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]float64{}
	for _, f := range families {
		name, ok := strings.CutPrefix(strings.TrimSuffix(f.GetName(), "_total"), "tsdbridge_write_samples_")
		if !ok {
			continue
		}
		out[name] = map[string]float64{}
		for _, m := range f.GetMetric() {
			out[name][labelOf(m, "protocol")+"/"+labelOf(m, "kind")] = m.GetCounter().GetValue()
		}
	}
	return out
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// checkCounters checks that received = written + rejected + failed, of each kind, and that nothing
// is in flight.
func checkCounters(t testing.TB, d testDoor) map[string]map[string]float64 {
	t.Helper()
	c := counters(t, d.registry)
	for key, received := range c["received"] {
		if sum := c["written"][key] + c["rejected"][key] + c["failed"][key]; sum != received || c["written"][key] < 0 {
			t.Errorf("%s: received %v, written %v, rejected %v, failed %v", key, received, c["written"][key], c["rejected"][key], c["failed"][key])
		}
	}
	h := d.Handler.(*Handler)
	if n, b := h.intake.Gate().Requests(), h.intake.Gate().Bytes(); n != 0 || b != 0 {
		t.Errorf("%d requests of %d bytes are still in flight", n, b)
	}
	return c
}

// mixedText has a good and a bad item of everything that 2.0 has.
const mixedText = `
{__name__="up", job="a"} 1@1000 2@-1 int:good@2000 int:wrong-count@3000 ex:{a="1"}=1@1000 ex:{a="1"}=1@-1 meta:gauge,"Up.",""
{job="no name"} 1@1000 int:good@1000 ex:{}=1@1 meta:gauge,"Up.",""
`

func sendText(t testing.TB, d testDoor, v version, text string) *http.Response {
	t.Helper()
	q, err := promtest.ParseWrite(text)
	if err != nil {
		t.Fatal(err)
	}
	if v == version1 {
		m := q.V1()
		return d.send(v, promtest.Marshal(t, &m))
	}
	m := q.V2()
	return d.send(v, promtest.Marshal(t, &m))
}

func TestRemoteWriteErrorsOfTheStore(t *testing.T) {
	down, limit := errors.New("region server is down"), fmt.Errorf("%w: out of UIDs", storage.ErrLimit)
	all := func(err error) func(storage.Series) error { return func(storage.Series) error { return err } }
	for _, c := range []struct {
		name   string
		set    func(*recordingStore)
		want   string // of mixedText as 2.0, up to the text
		failed float64
	}{
		{"none", func(*recordingStore) {}, "400 written 1/1/1", 0},
		{"resolve down", func(s *recordingStore) { s.resolveErr = all(down) }, "503 written 0/0/0", 3},
		{"resolve limit", func(s *recordingStore) { s.resolveErr = all(limit) }, "400 written 0/0/0", 0},
		{"append down", func(s *recordingStore) { s.appendErr = func(context.Context) error { return down } }, "503 written 0/0/0", 3},
		{"append refuses", func(s *recordingStore) { s.appendErr = func(context.Context) error { return limit } }, "400 written 0/0/0", 0},
		{"not ready", func(s *recordingStore) { s.appendErr = func(context.Context) error { return storage.ErrNotReady } }, "503 written 0/0/0", 3},
		{"metadata down", func(s *recordingStore) { s.metadataErr = func(string) error { return down } }, "503 written 0/0/0", 0},
		{"metadata limit", func(s *recordingStore) { s.metadataErr = func(string) error { return limit } }, "400 written 1/1/1", 0},
	} {
		d := newTestDoor(nil)
		c.set(d.store)
		res := sendText(t, d, version2, mixedText)
		if got := describe(t, res); !strings.HasPrefix(got, c.want+" ") {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if after, err := strconv.Atoi(res.Header.Get("Retry-After")); (res.StatusCode == http.StatusServiceUnavailable) != (err == nil) || err == nil && (after < 1 || after > 5) {
			t.Errorf("%s: Retry-After %q", c.name, res.Header.Get("Retry-After"))
		}
		counts := checkCounters(t, d)
		if got := counts["failed"]["remote_write_2/sample"]; got != c.failed {
			t.Errorf("%s: %v samples failed, want %v", c.name, got, c.failed)
		}
		if got := counts["received"]["remote_write_2/metadata"]; got != 2 {
			t.Errorf("%s: %v metadata received, want 2", c.name, got)
		}
	}
}

// After an outage, the same request sent again is stored whole, and then its series are known.
func TestRemoteWriteRecovers(t *testing.T) {
	d := newTestDoor(nil)
	d.store.appendErr = func(context.Context) error { return errors.New("down") }
	for range 2 {
		if got := sendText(t, d, version1, `{__name__="up", job="a"} 1@1000`).StatusCode; got != http.StatusServiceUnavailable {
			t.Fatalf("status %d", got)
		}
	}
	d.store.appendErr = nil
	if got := describe(t, sendText(t, d, version1, `{__name__="up", job="a"} 1@1000`)); got != "204" || d.store.String() != stored {
		t.Errorf("%s, stored %s", got, d.store)
	}
	if d.store.resolved != 1 {
		t.Errorf("the series was resolved %d times, want once", d.store.resolved)
	}
}

// A series over a limit is refused alone; a series that the store cannot resolve now makes the
// sender repeat everything, and then the others are known.
func TestRemoteWriteResolvesEachSeries(t *testing.T) {
	d := newTestDoor(nil)
	err := storage.ErrLimit
	d.store.resolveErr = func(s storage.Series) error {
		if s.Metric == "odd" {
			return err
		}
		return nil
	}
	text := `{__name__="up", job="a"} 1@1000
{__name__="odd"} 1@1000
{__name__="odd"} 2@2000`
	if got, want := describe(t, sendText(t, d, version2, text)), `400 written 1/0/0 refused 2 series, 2 of 3 samples; the rest is stored: {__name__="odd"}: limit exceeded; {__name__="odd"}: limit exceeded`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	err = errors.New("down")
	if got := sendText(t, d, version2, text).StatusCode; got != http.StatusServiceUnavailable {
		t.Errorf("status %d, want 503", got)
	}
	if d.store.resolved != 3 {
		t.Errorf("resolved %d series, want up once and odd once per request", d.store.resolved)
	}
	checkCounters(t, d)
}

func TestRemoteWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newTestDoor(func(l *Options) { l.Timeout = 20 * time.Second })
		d.store.appendErr = func(ctx context.Context) error {
			<-ctx.Done()
			// A store may return both errors at once.
			return fmt.Errorf("%w: %w", storage.ErrLimit, ctx.Err())
		}
		begin := time.Now()
		if got := sendText(t, d, version1, `{__name__="up"} 1@1000`).StatusCode; got != http.StatusServiceUnavailable {
			t.Errorf("status %d, want 503", got)
		}
		if took := time.Since(begin); took != 20*time.Second {
			t.Errorf("took %v", took)
		}
		checkCounters(t, d)
	})
}

// Requests over the limits of the process are refused with a request to come again, not queued.
func TestRemoteWriteOverload(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	for name, change := range map[string]func(*Options){
		"requests": func(l *Options) { l.Requests = 1 },
		"bytes":    func(l *Options) { l.BodyBytes, l.DecodedBytes, l.InFlightBytes = 70, 70, 1200 },
	} {
		d := newTestDoor(change)
		d.store.appendErr = func(context.Context) error {
			entered <- struct{}{}
			<-leave
			return nil
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := describe(t, d.post(goodV2(t), "Content-Type", "application/x-protobuf;proto="+protoV2)); got != "204 written 1/0/0" {
				t.Errorf("%s: the first: %s", name, got)
			}
		})
		<-entered
		res := d.post(goodV2(t), "Content-Type", "application/x-protobuf;proto="+protoV2)
		if got := describe(t, res); !strings.HasPrefix(got, "503 written 0/0/0") || res.Header.Get("Retry-After") == "" {
			t.Errorf("%s: the second: %s", name, got)
		}
		close(leave)
		wg.Wait()
		leave = make(chan struct{})
		checkCounters(t, d)
	}
}

// Invalid references spoil only their own series, exemplar or metadata.
func TestRemoteWriteReferences(t *testing.T) {
	one := []writev2.Sample{{Value: 1, Timestamp: 1000}}
	symbols := []string{"", "__name__", "up", "job", "a"}
	good := writev2.TimeSeries{LabelsRefs: []uint32{1, 2, 3, 4}, Samples: one}
	for _, c := range []struct {
		name, want, stored string
		symbols            []string
		series             []writev2.TimeSeries
	}{
		{"odd", "400 written 1/0/0 refused 1 series, 1 of 2 samples; the rest is stored: time series 2: 3 label references, an odd number", stored, symbols, []writev2.TimeSeries{good, {LabelsRefs: []uint32{1, 2, 3}, Samples: one}}},
		{"out of range", "400 written 1/0/0 refused 1 series, 1 of 2 samples; the rest is stored: time series 1: reference to symbol 5 of 5", stored, symbols, []writev2.TimeSeries{{LabelsRefs: []uint32{1, 5}, Samples: one}, good}},
		{"exemplar out of range", `400 written 1/0/0 refused 1 of 1 exemplars; the rest is stored: {__name__="up", job="a"}: exemplar: reference to symbol 9 of 5`, stored, symbols, []writev2.TimeSeries{{LabelsRefs: good.LabelsRefs, Samples: one, Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{1, 9}, Timestamp: 1}}}}},
		{"exemplar odd", `400 written 1/0/0 refused 1 of 1 exemplars; the rest is stored: {__name__="up", job="a"}: exemplar: 1 label references, an odd number`, stored, symbols, []writev2.TimeSeries{{LabelsRefs: good.LabelsRefs, Samples: one, Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{1}, Timestamp: 1}}}}},
		{"metadata out of range", `400 written 0/0/0 refused 1 series, 1 of 1 samples, 1 of 1 metadata: {__name__="up", job="a"}: metadata: help: reference to symbol 7 of 5`, "nothing\n", symbols, []writev2.TimeSeries{{LabelsRefs: good.LabelsRefs, Samples: one, Metadata: writev2.Metadata{HelpRef: 7}}}},
		{"unit out of range", `400 written 1/0/0 refused 1 series, 1 of 2 samples, 1 of 1 metadata; the rest is stored: {__name__="up", job="a"}: metadata: unit: reference to symbol 5 of 5`, stored, symbols, []writev2.TimeSeries{good, {LabelsRefs: good.LabelsRefs, Samples: one, Metadata: writev2.Metadata{UnitRef: 5}}}},
		{"symbols do not begin with nothing", "204 written 1/0/0", stored, symbols[1:], []writev2.TimeSeries{{LabelsRefs: []uint32{0, 1, 2, 3}, Samples: one}}},
		{"no symbols", "400 written 0/0/0 refused 1 series, 1 of 1 samples: {}: no metric name", "nothing\n", nil, []writev2.TimeSeries{{Samples: one}}},
	} {
		d := newTestDoor(nil)
		m := writev2.Request{Symbols: c.symbols, Timeseries: c.series}
		if got := describe(t, d.send(version2, promtest.Marshal(t, &m))); got != c.want || d.store.String() != c.stored {
			t.Errorf("%s:\ngot  %s\nwant %s\nstored %s", c.name, got, c.want, d.store)
		}
		checkCounters(t, d)
	}
}

// A request that is broken at its very end, in the labels of its last series or exemplar, stores
// nothing.
func TestRemoteWriteStoresNothingOfABrokenRequest(t *testing.T) {
	good, err := snappy.Decode(nil, goodV1(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, tail := range map[string][]byte{
		"cut off":                 {0x0a, 0x05},
		"label of another type":   {0x0a, 0x04, 0x0a, 0x02, 0x08, 0x01},
		"label cut off":           {0x0a, 0x04, 0x0a, 0x02, 0x0a, 0x05},
		"exemplar's label":        {0x0a, 0x06, 0x1a, 0x04, 0x0a, 0x02, 0x0a, 0x05},
		"histogram":               {0x0a, 0x03, 0x22, 0x01, 0x19},
		"metadata":                {0x1a, 0x01, 0x12},
		"end of a group not open": {0x54},
	} {
		d := newTestDoor(nil)
		got := describe(t, d.send(version1, append(bytes.Clone(good), tail...)))
		if !strings.HasPrefix(got, "400 ") || d.store.String() != "nothing\n" || d.store.resolved != 0 {
			t.Errorf("%s: %s, stored %s", name, got, d.store)
		}
		checkCounters(t, d)
	}
}

// An answer is short, however many errors there are and however long the names are.
func TestRemoteWriteAnswersAreShort(t *testing.T) {
	var m prompb.WriteRequest
	for i := range 2000 {
		m.Timeseries = append(m.Timeseries, prompb.TimeSeries{
			Labels:  []prompb.Label{{Name: strings.Repeat("é", 500), Value: strings.Repeat("\xff", 5000)}, {Name: "i", Value: strconv.Itoa(i)}},
			Samples: []prompb.Sample{{Timestamp: 1}},
		})
	}
	got := describe(t, newTestDoor(nil).send(version1, promtest.Marshal(t, &m)))
	if !strings.HasPrefix(got, "400 refused 2000 series, 2000 of 2000 samples: ") || !strings.HasSuffix(got, "; and 1995 more") || len(got) > 1024 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

// brokenBody is a connection that breaks.
type brokenBody struct{}

func (brokenBody) Read(p []byte) (int, error) { return copy(p, "abc"), io.ErrUnexpectedEOF }

func TestRemoteWriteBrokenConnection(t *testing.T) {
	d := newTestDoor(nil)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", brokenBody{}))
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
	checkCounters(t, d)
}
