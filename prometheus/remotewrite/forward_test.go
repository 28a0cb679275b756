package remotewrite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/snappy"
	remoteapi "github.com/prometheus/client_golang/exp/api/remote"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	commonconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/relabel"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// catalog names series by their numbers: m{n="1"}, m{n="2"}, …. Number 99 has no name.
type catalog struct{}

func (catalog) TSUIDsOf(dst [][]byte, refs []storage.Ref) [][]byte { return tsuidsOf(dst, refs) }

func (catalog) NameSeries(_ context.Context, tsuids [][]byte) (all []storage.NewSeries, err error) {
	for _, tsuid := range tsuids {
		n := binary.BigEndian.Uint32(tsuid[len("tsuid"):])
		if n != 99 {
			all = append(all, storage.NewSeries{TSUID: tsuid, Series: storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "n", Value: fmt.Sprint(n)}}}})
		}
	}
	return all, nil
}

func (catalog) Metadata(context.Context) (map[string]storage.Metadata, error) {
	return map[string]storage.Metadata{"m": {Type: "counter", Help: "Some.", Unit: "bytes"}}, nil
}

func toLabels(s storage.Series) labels.Labels {
	b := labels.NewScratchBuilder(2)
	b.Add(model.MetricNameLabel, s.Metric)
	for _, tag := range s.Tags {
		b.Add(tag.Key, tag.Value)
	}
	return b.Labels()
}

// A receiver is a server of remote write that keeps what it is sent as text.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex // guards what follows
	answer   func(n int) int
	header   func(http.Header) // of answers; nil: all is written
	requests int
	got      []string
	metadata []string
	arrived  chan struct{}
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{arrived: make(chan struct{}, 1), answer: func(int) int { return http.StatusNoContent }}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (s *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	packed, err := io.ReadAll(r.Body)
	if err == nil {
		packed, err = snappy.Decode(nil, packed)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.answer(s.requests)
	s.requests++
	if err != nil {
		status = http.StatusBadRequest
	}
	if s.header != nil {
		s.header(w.Header())
	}
	if status < 300 {
		if strings.Contains(r.Header.Get("Content-Type"), "v2") {
			if s.header == nil {
				w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "1000000")
				w.Header().Set("X-Prometheus-Remote-Write-Histograms-Written", "1000000")
				w.Header().Set("X-Prometheus-Remote-Write-Exemplars-Written", "1000000")
			}
			s.addV2(packed)
		} else {
			s.addV1(packed)
		}
	}
	w.WriteHeader(status)
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

func (s *receiver) addV1(body []byte) {
	var w prompb.WriteRequest
	if err := w.Unmarshal(body); err != nil {
		s.got = append(s.got, err.Error())
	}
	b := labels.NewScratchBuilder(3)
	for _, ts := range w.Timeseries {
		name := ts.ToLabels(&b, nil).String()
		for _, p := range ts.Samples {
			s.got = append(s.got, fmt.Sprintf("%s %d %x", name, p.Timestamp, math.Float64bits(p.Value)))
		}
		for _, h := range ts.Histograms {
			s.got = append(s.got, fmt.Sprintf("%s %d %s", name, h.Timestamp, h.ToIntHistogram()))
		}
		for _, e := range ts.Exemplars {
			s.got = append(s.got, fmt.Sprintf("%s %d exemplar %v", name, e.Timestamp, e.Value))
		}
	}
	for _, m := range w.Metadata {
		s.metadata = append(s.metadata, fmt.Sprintf("%s %s %s %s", m.MetricFamilyName, m.Type, m.Help, m.Unit))
	}
}

func (s *receiver) addV2(body []byte) {
	var w writev2.Request
	if err := w.Unmarshal(body); err != nil {
		s.got = append(s.got, err.Error())
	}
	b := labels.NewScratchBuilder(3)
	for _, ts := range w.Timeseries {
		ls, err := ts.ToLabels(&b, w.Symbols)
		if err != nil {
			s.got = append(s.got, err.Error())
		}
		m, err := ts.ToMetadata(w.Symbols)
		if text := fmt.Sprint(m, err); !slices.Contains(s.metadata, text) {
			s.metadata = append(s.metadata, text)
		}
		for _, p := range ts.Samples {
			s.got = append(s.got, fmt.Sprintf("%s %d %x from %d", ls, p.Timestamp, math.Float64bits(p.Value), p.StartTimestamp))
		}
		for _, h := range ts.Histograms {
			s.got = append(s.got, fmt.Sprintf("%s %d %s from %d", ls, h.Timestamp, h.ToIntHistogram(), h.StartTimestamp))
		}
		for _, e := range ts.Exemplars {
			s.got = append(s.got, fmt.Sprintf("%s %d exemplar %v", ls, e.Timestamp, e.Value))
		}
	}
}

// answers sets how it answers the request of a number.
func (s *receiver) answers(f func(n int) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.requests = f, 0
}

// wait waits until the receiver holds what a test wants.
func (s *receiver) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	late := time.After(30 * time.Second)
	for {
		s.mu.Lock()
		ok := holds()
		s.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-s.arrived:
		case <-late:
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Fatalf("%s: %d requests, %d samples: %.300v, %v", what, s.requests, len(s.got), s.got, s.metadata)
		}
	}
}

// waitFor waits for samples, some of which may have come twice.
func (s *receiver) waitFor(t *testing.T, want []string) {
	t.Helper()
	s.wait(t, fmt.Sprintf("%d samples", len(want)), func() bool {
		for _, one := range want {
			if !slices.Contains(s.got, one) {
				return false
			}
		}
		return true
	})
}

func remoteTo(t *testing.T, address string, change ...func(*config.RemoteWriteConfig)) *config.RemoteWriteConfig {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	c := config.DefaultRemoteWriteConfig
	c.URL, c.Name = &commonconfig.URL{URL: u}, "other"
	c.QueueConfig.BatchSendDeadline, c.QueueConfig.MaxBackoff = model.Duration(time.Millisecond), model.Duration(50*time.Millisecond)
	for _, f := range change {
		f(&c)
	}
	return &c
}

// A world is a Manager that runs.
type world struct {
	*Manager
	t    *testing.T
	o    Options
	stop func()
	log  *strings.Builder
}

func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{t: t, log: &strings.Builder{}}
	w.o = Options{
		Dir: t.TempDir(), MaxBytes: 4 << 20, segmentBytes: 1 << 20, recordBytes: 64 << 10, HasSpace: func(string) bool { return true },
		Catalog: catalog{}, Metadata: catalog{}, Labels: toLabels, Now: time.Now,
		Logger: slog.New(slog.NewTextHandler(w.log, nil)),
	}
	for _, f := range change {
		f(&w.o)
	}
	w.begin()
	return w
}

// begin starts a Manager over the directory, as a start of the process does.
func (w *world) begin() {
	w.t.Helper()
	o := w.o
	o.Registerer = prometheus.NewRegistry()
	w.Manager = NewManager(o)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = w.Run(ctx) }()
	manager := w.Manager
	w.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		if err := manager.Close(); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
}

func (w *world) apply(remotes ...*config.RemoteWriteConfig) {
	w.t.Helper()
	if err := w.Apply(Settings{Remotes: remotes}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) dropped(reason string) int {
	return int(testutil.ToFloat64(w.metrics.dropped.WithLabelValues("other", reason)))
}

// append appends samples of some series at a time, and returns them as the receiver shows them.
func (w *world) append(at int64, numbers ...int) (want []string) {
	var b storage.Batch
	for _, n := range numbers {
		b.Add(storage.Ref(n), at, float64(n)) //nolint:gosec // small numbers
		want = append(want, fmt.Sprintf(`{__name__="m", n="%d"} %d %x`, n, at, math.Float64bits(float64(n))))
	}
	w.Appended(&b)
	return want
}

// TestSends sends samples by 1.0, and the metadata of metrics.
func TestSends(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	w.apply(remoteTo(t, r.URL))
	var want []string
	for at := range 20 {
		want = append(want, w.append(int64(at), 1, 2, 3)...)
	}
	r.waitFor(t, want)
	r.wait(t, "metadata", func() bool { return slices.Contains(r.metadata, "m COUNTER Some. bytes") })
	taken := func() float64 { return testutil.ToFloat64(w.metrics.samples.WithLabelValues("other", "sample")) }
	for begun := time.Now(); taken() < 60; time.Sleep(time.Millisecond) { // an answer is counted after it was given
		if time.Since(begun) > 30*time.Second {
			t.Fatalf("%v samples are counted", taken())
		}
	}
}

// TestKinds sends all kinds of data by 1.0 and 2.0.
func TestKinds(t *testing.T) {
	h := tsdbutil.GenerateTestHistogram(3)
	const ls = `{__name__="m", n="1"}`
	common := []string{ls + " 1000 exemplar 0"}
	for name, tc := range map[string]struct {
		message remoteapi.WriteMessageType
		most    int // samples in a request
		want    []string
	}{
		"1.0": {remoteapi.WriteV1MessageType, 100, append(common, ls+" 1000 3ff8000000000000", ls+" 2000 "+h.String())},
		"2.0": {remoteapi.WriteV2MessageType, 100, append(common, ls+" 1000 3ff8000000000000 from 400", ls+" 2000 "+h.String()+" from 0")},
		// a start time comes after its sample
		"2.0, one by one": {remoteapi.WriteV2MessageType, 1, append(common, ls+" 1000 3ff8000000000000 from 400", ls+" 2000 "+h.String()+" from 0")},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := newReceiver(t), newWorld(t)
			w.apply(remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) {
				c.ProtobufMessage, c.SendExemplars, c.SendNativeHistograms = tc.message, true, true
				c.QueueConfig.MaxSamplesPerSend = tc.most
			}))
			var b storage.Batch
			b.Add(1, 1000, 1.5)
			b.AddObject(1, 1000, storage.KindStartTime, histogramcodec.AppendStartTime(nil, -600))
			b.AddObject(1, 1000, storage.KindExemplar, nil)
			b.AddObject(1, 3000, storage.KindHistogram, []byte{1})
			b.AddObject(1, 2000, storage.KindHistogram, histogramcodec.EncodeHistogram(h))
			w.Appended(&b)
			r.waitFor(t, tc.want)
			r.wait(t, "metadata", func() bool { return len(r.metadata) == 1 })
			if len(r.got) != len(tc.want) || w.dropped(dropForm) != 1 {
				t.Errorf("got %q, want %q; %d dropped", r.got, tc.want, w.dropped(dropForm))
			}
		})
	}
}

// TestDamage damages a record of the spool. What stands around it is sent, and what comes later.
func TestDamage(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	r.answers(func(int) int { return http.StatusServiceUnavailable })
	w.apply(remoteTo(t, r.URL))
	want := w.append(1, 1, 2)
	w.append(2, 1, 2)
	s := (*w.live.Load())[0].spool
	var end log.Position
	if err := s.Tail(t.Context(), end, func(_ []byte, next log.Position) error { end = next; return nil }); err != nil {
		t.Fatal(err)
	}
	want = append(want, w.append(3, 1, 2)...)
	f, err := os.OpenFile(filepath.Join(w.o.Dir, "other", "spool", fmt.Sprintf("%016x.log", end.Segment)), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	at, last := end.Offset-1, []byte{0}
	if _, err = f.ReadAt(last, at); err == nil {
		_, err = f.WriteAt([]byte{last[0] ^ 1}, at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	// another sender reads the spool anew
	w.apply(remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) { c.QueueConfig.MaxSamplesPerSend = 7 }))
	r.answers(func(int) int { return http.StatusNoContent })
	r.waitFor(t, want)
	for begun := time.Now(); w.dropped(dropDamage) == 0; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the damage is not noticed")
		}
	}
	r.waitFor(t, w.append(4, 1, 2))
}

// TestAbsence sends everything when a destination is back, in order, also after a restart of this process.
func TestAbsence(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	for i, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusNotFound} {
		r.answers(func(int) int { return status })
		w.apply(remoteTo(t, r.URL))
		var want []string
		for at := range 10 {
			want = append(want, w.append(int64(100*i+at), 1, 2)...)
		}
		r.wait(t, "attempts", func() bool { return r.requests > 3 })
		w.stop()
		w.begin()
		w.apply(remoteTo(t, r.URL))
		want = append(want, w.append(int64(100*i+50), 1, 2)...)
		r.answers(func(n int) int { return map[bool]int{true: status, false: http.StatusNoContent}[n < 2] })
		r.waitFor(t, want)
	}
	last := map[string]int{}
	for _, line := range r.got {
		name, rest, _ := strings.Cut(line, "} ")
		var at int
		if _, err := fmt.Sscan(rest, &at); err != nil || at < last[name]-60 {
			t.Errorf("%q comes after %d, %v", line, last[name], err)
		}
		last[name] = max(last[name], at)
	}
}

// TestRedirect takes no answer to a GET for one to samples, and follows redirects that keep the request.
func TestRedirect(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	var posts, gets atomic.Int32
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, rq *http.Request) {
		if rq.Method == http.MethodGet { // a page to log in
			gets.Add(1)
			return
		}
		to, status := "/login", http.StatusFound
		if posts.Add(1) > 3 {
			to, status = r.URL, http.StatusPermanentRedirect
		}
		http.Redirect(rw, rq, to, status)
	}))
	t.Cleanup(front.Close)
	w.apply(remoteTo(t, front.URL))
	r.waitFor(t, w.append(1, 1, 2))
	if gets.Load() != 0 {
		t.Errorf("%d requests without samples", gets.Load())
	}
}

// TestRefusal does not send again what the destination refuses.
func TestRefusal(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	r.answers(func(n int) int { return map[bool]int{true: http.StatusBadRequest, false: http.StatusNoContent}[n < 3] })
	w.apply(remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) { c.MetadataConfig.Send = false }))
	for n := range 3 {
		w.append(int64(n), 1)
		r.wait(t, "a refusal", func() bool { return r.requests == n+1 })
	}
	r.waitFor(t, w.append(5, 1, 2))
	if got := w.dropped(dropRefused); got != 3 || len(r.got) != 2 {
		t.Errorf("%d are counted as refused, %q were sent", got, r.got)
	}
}

// TestInPart counts what a destination of 2.0 has not written, whatever the status of its answer is.
func TestInPart(t *testing.T) {
	for _, status := range []int{http.StatusNoContent, http.StatusBadRequest} {
		r, w := newReceiver(t), newWorld(t)
		r.answers(func(int) int { return status })
		r.header = func(h http.Header) { h.Set("X-Prometheus-Remote-Write-Samples-Written", "1") }
		w.apply(remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) { c.ProtobufMessage = remoteapi.WriteV2MessageType }))
		w.append(1, 1, 2, 3)
		for begun := time.Now(); w.dropped(dropRefused) < 2; time.Sleep(time.Millisecond) {
			if time.Since(begun) > 30*time.Second {
				t.Fatalf("%d: %d are counted as refused", status, w.dropped(dropRefused))
			}
		}
		if got := testutil.ToFloat64(w.metrics.samples.WithLabelValues("other", "sample")); got != 1 || w.dropped(dropRefused) != 2 {
			t.Errorf("%d: %v are counted as written, %d as refused", status, got, w.dropped(dropRefused))
		}
		w.stop()
		if !strings.Contains(w.log.String(), "refuses samples") {
			t.Errorf("%d: the log does not tell it: %s", status, w.log)
		}
	}
}

// TestOldServer keeps what is sent by 2.0 to a server that answers 204 and knows 1.0 alone, until the settings are right.
func TestOldServer(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	r.header = func(http.Header) {}
	v2 := func(c *config.RemoteWriteConfig) { c.ProtobufMessage = remoteapi.WriteV2MessageType }
	w.apply(remoteTo(t, r.URL, v2))
	want := w.append(1, 1, 2)
	r.wait(t, "some requests", func() bool { return r.requests > 2 })
	w.apply(remoteTo(t, r.URL))
	r.waitFor(t, want)
	w.stop()
	if !strings.Contains(w.log.String(), "takes remote write 1.0 only") {
		t.Errorf("the log does not tell it: %s", w.log)
	}
}

// TestRetryAfter waits as long as a destination asks for.
func TestRetryAfter(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	r.answers(func(n int) int {
		return map[bool]int{true: http.StatusTooManyRequests, false: http.StatusNoContent}[n < 1]
	})
	r.header = func(h http.Header) { h.Set("Retry-After", "1") }
	w.apply(remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) { c.MetadataConfig.Send = false }))
	begun := time.Now()
	r.waitFor(t, w.append(1, 1, 2))
	if took := time.Since(begun); took < time.Second {
		t.Errorf("sent again after %v", took)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{"": 0, "x": 0, "120": 2 * time.Minute, "-1": -time.Second, "Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", header, got, want)
		}
	}
	r.answers(func(int) int { return http.StatusTooManyRequests })
	r.header = func(h http.Header) { h.Set("Retry-After", "100000") }
	w.append(2, 1)
	r.wait(t, "a request", func() bool { return r.requests > 0 })
	w.stop() // does not wait
}

// TestOrphans tells of samples that wait for a destination that a start does not find in the settings, and sends them
// when it comes back.
func TestOrphans(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	r.answers(func(int) int { return http.StatusServiceUnavailable })
	to := func(name string) *config.RemoteWriteConfig {
		return remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) { c.Name = name })
	}
	w.apply(to("old"), to("empty"))
	want := w.append(1, 1, 2)
	w.stop()
	w.log.Reset()
	w.begin()
	w.apply(to("new"))
	w.stop()
	if text := w.log.String(); !strings.Contains(text, "a spool has samples for a destination that remote_write does not have") || !strings.Contains(text, "old") {
		t.Errorf("the log does not tell it: %s", text)
	}
	r.answers(func(int) int { return http.StatusNoContent })
	w.log.Reset()
	w.begin()
	w.apply(to("new"), to("old"), to("empty"))
	r.waitFor(t, want)
	w.stop()
	if strings.Contains(w.log.String(), "a spool has samples") {
		t.Errorf("a spool that is used is told of: %s", w.log)
	}
}

// TestSettings relabels, adds labels, leaves out what is old or has no name.
func TestSettings(t *testing.T) {
	r, w := newReceiver(t), newWorld(t, func(o *Options) { o.Now = func() time.Time { return time.Unix(1000, 0) } })
	rule := relabel.DefaultRelabelConfig
	rule.SourceLabels, rule.Regex, rule.Action = model.LabelNames{"n"}, relabel.MustNewRegexp("2"), relabel.Drop
	rule.NameValidationScheme = model.UTF8Validation
	c := remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) {
		c.WriteRelabelConfigs, c.QueueConfig.SampleAgeLimit = []*relabel.Config{&rule}, model.Duration(time.Minute)
	})
	if err := w.Apply(Settings{Remotes: []*config.RemoteWriteConfig{c}, External: labels.FromStrings("n", "no", "site", "b")}); err != nil {
		t.Fatal(err)
	}
	w.append(990_000, 1, 2, 99)
	w.append(900_000, 1)
	w.append(991_000, 3)
	r.waitFor(t, []string{`{__name__="m", n="3", site="b"} 991000 4008000000000000`})
	want := []string{`{__name__="m", n="1", site="b"} 990000 3ff0000000000000`, `{__name__="m", n="3", site="b"} 991000 4008000000000000`}
	if !slices.Equal(r.got, want) || w.dropped(dropRelabel) != 1 || w.dropped(dropAge) != 1 || w.dropped(dropUnnamed) != 1 {
		t.Errorf("got %q, want %q", r.got, want)
	}
}

// TestFull counts what a full spool does not take. What it has taken is sent.
func TestFull(t *testing.T) {
	r, w := newReceiver(t), newWorld(t)
	r.answers(func(int) int { return http.StatusServiceUnavailable })
	w.apply(remoteTo(t, r.URL))
	var want []string
	numbers := make([]int, 98)
	for at := int64(0); w.dropped(dropFull) == 0; at++ {
		for i := range numbers {
			numbers[i] = i + 1
		}
		if some := w.append(at, numbers...); w.dropped(dropFull) == 0 {
			want = append(want, some...)
		}
	}
	r.answers(func(int) int { return http.StatusNoContent })
	r.wait(t, "what was kept", func() bool { return len(r.got) >= len(want) })
	sent := map[string]bool{}
	for _, one := range r.got {
		sent[one] = true
	}
	for _, one := range want {
		if !sent[one] {
			t.Fatalf("%s is missing", one)
		}
	}
	if !strings.Contains(w.log.String(), "--remote-write.max-bytes") {
		t.Errorf("the log has %s", w.log)
	}
}

// TestReload changes, removes and adds destinations.
func TestReload(t *testing.T) {
	first, second, w := newReceiver(t), newReceiver(t), newWorld(t)
	to := func(r *receiver, name string) *config.RemoteWriteConfig {
		return remoteTo(t, r.URL, func(c *config.RemoteWriteConfig) { c.Name = name })
	}
	first.answers(func(int) int { return http.StatusServiceUnavailable })
	w.apply(to(first, "a"))
	waits := w.append(1, 1)
	w.apply(to(second, "a"), to(first, "b"))
	first.answers(func(int) int { return http.StatusNoContent })
	second.waitFor(t, waits)
	both := w.append(2, 1, 2)
	first.waitFor(t, both)
	second.waitFor(t, both)
	w.apply(to(first, "b"))
	first.waitFor(t, w.append(3, 1))
	bad := to(first, "c")
	bad.HTTPClientConfig.TLSConfig.CAFile = "/does/not/exist"
	if err := w.Apply(Settings{Remotes: []*config.RemoteWriteConfig{to(second, "b"), bad}}); err == nil {
		t.Error("a destination with a bad CA file is taken")
	}
	if err := w.Apply(Settings{Remotes: []*config.RemoteWriteConfig{to(second, "b"), to(first, "b")}}); err == nil {
		t.Error("two destinations of one name are taken")
	}
	first.waitFor(t, w.append(4, 1))
	if slices.Contains(second.got, both[0]) && len(second.got) > len(waits)+len(both) {
		t.Errorf("the destination that was removed got %q", second.got)
	}
	w.apply()
	w.append(5, 1)
}
