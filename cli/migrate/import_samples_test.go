package migrate

import (
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// filled returns the options of an embedded store with what a data directory has, and that.
func filled(t *testing.T) (adapter.Options, promtest.Samples) {
	t.Helper()
	dir := promtest.DataDir(t)
	o := adaptertest.Options(t, write.Buffered)
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, blocksOf(t, dir), c) }); code != 0 {
		t.Fatal(out)
	}
	return o, answerOfPrometheus(t, dir)
}

// TestImportFetch: what comes by remote read of an adapter is what it has, in all bits. An import that was
// interrupted goes on.
func TestImportFetch(t *testing.T) {
	from, want := filled(t)
	a, stop := adaptertest.Run(t, from)
	defer stop()
	i := DefaultImportFetchOptions()
	i.Server, i.From, i.To, i.State = "http://"+a.Addr()+"/api/v1/read", "2023-11-14T00:00:00Z", "2023-11-16T00:00:00Z", filepath.Join(t.TempDir(), "state")
	if err := i.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	o := adaptertest.Options(t, write.Buffered)
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportFetch(t.Context(), o, i, c) })
	if code != 0 || !strings.HasPrefix(out, strconv.Itoa(len(want))+" samples imported") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
	if code, out = commandtest.Code(t, func(c command.Console) error { return ImportFetch(t.Context(), o, i, c) }); code != 0 || !strings.Contains(out, "; "+strconv.Itoa(len(want))+" before") {
		t.Errorf("%d: %s", code, out)
	}
	for wanted, change := range map[string]func(*ImportFetchOptions){
		"both are needed": func(i *ImportFetchOptions) { i.To = "" }, "--window=1s": func(i *ImportFetchOptions) { i.Window = time.Second },
		"--header=x": func(i *ImportFetchOptions) { i.Headers = []string{"x"} }, "more than 1048576": func(i *ImportFetchOptions) { i.From, i.Window = "1970-01-02T00:00:00Z", time.Minute },
	} {
		other := i
		change(&other)
		if err := other.Validate(time.Now()); err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("%v, want %s", err, wanted)
		}
	}
	i.Server = "http://127.0.0.1:1/api/v1/read"
	i.Patience, i.State = 0, ""
	var text strings.Builder
	if err := ImportFetch(t.Context(), o, i, command.Console{Out: &text, Err: &text}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}

// TestLines: floats that go out as lines of JSON come back with the same bits; NaNs stay.
func TestLines(t *testing.T) {
	from, want := filled(t)
	maps.DeleteFunc(want, func(_, text string) bool { return strings.Contains(text, "nil") }) // histograms
	for key, text := range want {
		bits, err := strconv.ParseUint(text, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		if math.IsNaN(math.Float64frombits(bits)) {
			delete(want, key)
		}
	}
	e := DefaultExportLinesOptions()
	e.Output = filepath.Join(t.TempDir(), "lines.gz")
	if err := e.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	code, out := commandtest.Code(t, func(c command.Console) error { return ExportLines(t.Context(), from, e, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "lines of JSON cannot hold native histograms") || !strings.HasPrefix(out, strconv.Itoa(len(want))+" points exported") {
		t.Errorf("%d: %s", code, out)
	}
	o := adaptertest.Options(t, write.Buffered)
	i := DefaultImportOptions()
	i.Files = []string{e.Output}
	code, out = commandtest.Code(t, func(c command.Console) error { return ImportLines(t.Context(), o, i, c) })
	if code != 0 || !strings.HasPrefix(out, strconv.Itoa(len(want))+" points imported") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
}

// textFile writes a file and returns its name.
func textFile(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestBadLines: a bad line ends an import of lines of JSON, or is skipped and printed; so is a series that the store
// refuses.
func TestBadLines(t *testing.T) {
	good := `{"metric":{"__name__":"m"},"values":[1,2],"timestamps":[1700000000000,1700000001000]}` + "\n"
	for name, c := range map[string]struct {
		bad, want string
	}{
		"no JSON":    {"{", "file:2: unexpected end of JSON input"},
		"no name":    {`{"metric":{"a":"b"},"values":[1],"timestamps":[1]}`, "no metric name"},
		"other size": {`{"metric":{"__name__":"a"},"values":[1],"timestamps":[]}`, "file:2: 1 values, and 0 timestamps"},
	} {
		t.Run(name, func(t *testing.T) {
			o := adaptertest.Options(t, write.Buffered)
			i := DefaultImportOptions()
			i.Files = []string{textFile(t, good+c.bad+"\n"+strings.Replace(good, `"m"`, `"n"`, 1))}
			var text strings.Builder
			if err := ImportLines(t.Context(), o, i, command.Console{Out: &text, Err: &text}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			i.Skip = true
			code, out := commandtest.Code(t, func(c command.Console) error { return ImportLines(t.Context(), o, i, c) })
			if code != command.ExitIncomplete || !strings.Contains(out, c.want) || !strings.Contains(out, "1 bad lines") {
				t.Errorf("%d: %s", code, out)
			}
			if n := len(storedIn(t, o)); n != 4 {
				t.Errorf("%d samples", n)
			}
		})
	}
}

// TestImportText imports OpenMetrics, and what is wrong in it.
func TestImportText(t *testing.T) {
	const text = "# TYPE a counter\n# HELP a Some.\na_total{x=\"1\"} 2 1600000000.5 # {trace=\"t\"} 0.5 1600000000\nb NaN 1600000001\nbad\nc 1\n# EOF\n"
	o := adaptertest.Options(t, write.Buffered)
	i := DefaultImportTextOptions()
	i.Files, i.Labels = []string{textFile(t, text)}, []string{"from=x"}
	if err := i.Validate(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := ImportText(t.Context(), o, i, command.Console{Out: &said, Err: &said}); err == nil || !strings.Contains(err.Error(), "line 5: ") {
		t.Errorf("%v", err)
	}
	i.Skip = true
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportText(t.Context(), o, i, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "2 samples imported") || !strings.Contains(out, "line 5: ") || !strings.Contains(out, "line 6: the sample has no timestamp") {
		t.Errorf("%d: %s", code, out)
	}
	want := promtest.Samples{`{__name__="a_total", from="x", x="1"} 1600000000500`: "4000000000000000", `{__name__="b", from="x"} 1600000001000`: "7ff8000000000001"}
	if diff := cmp.Diff(want, storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
}

// TestText: floats that go out as OpenMetrics come back with the same bits, but for stale markers and the bits of NaNs.
func TestText(t *testing.T) {
	from, want := filled(t)
	maps.DeleteFunc(want, func(_, text string) bool {
		return strings.Contains(text, "nil") || text == strconv.FormatUint(value.StaleNaN, 16)
	})
	for key, text := range want {
		if bits, _ := strconv.ParseUint(text, 16, 64); math.IsNaN(math.Float64frombits(bits)) {
			want[key] = strconv.FormatUint(math.Float64bits(math.NaN()), 16)
		}
	}
	e := DefaultExportTextOptions()
	e.Output = filepath.Join(t.TempDir(), "text.gz")
	if err := e.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	code, out := commandtest.Code(t, func(c command.Console) error { return ExportOpenMetrics(t.Context(), from, e, c) })
	if code != command.ExitIncomplete || !strings.HasPrefix(out, strconv.Itoa(len(want))+" points exported") {
		t.Errorf("%d: %s", code, out)
	}
	o := adaptertest.Options(t, write.Buffered)
	i := DefaultImportTextOptions()
	i.Files = []string{e.Output}
	code, out = commandtest.Code(t, func(c command.Console) error { return ImportText(t.Context(), o, i, c) })
	if code != 0 {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
	e.Output = "dir/"
	if err := e.Validate(time.Now()); err == nil || !strings.Contains(err.Error(), "--output=dir/") {
		t.Errorf("%v", err)
	}
}

// readServer answers each remote read with the same series, and returns its URL.
func readServer(t *testing.T, series ...*prompb.TimeSeries) string {
	t.Helper()
	answer := &prompb.ReadResponse{Results: []*prompb.QueryResult{{Timeseries: series}}}
	text, err := answer.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.Header().Set("Content-Encoding", "snappy")
		_, _ = w.Write(snappy.Encode(nil, text))
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestImportFetchBadHistogram: a histogram that cannot be stored is listed, and all else comes in.
func TestImportFetchBadHistogram(t *testing.T) {
	bad := tsdbutil.GenerateTestHistogram(1)
	bad.ZeroThreshold = math.NaN()
	const at = 1_700_000_000_000
	labelled := func(name string) []prompb.Label { return []prompb.Label{{Name: "__name__", Value: name}} }
	hist := prompb.FromIntHistogram
	i := DefaultImportFetchOptions()
	i.Server = readServer(
		t, &prompb.TimeSeries{Labels: labelled("a"), Histograms: []prompb.Histogram{hist(at, tsdbutil.GenerateTestHistogram(1)), hist(at+1, bad), hist(at+2, tsdbutil.GenerateTestHistogram(2)), hist(at+3, bad)}},
		&prompb.TimeSeries{Labels: labelled("b"), Samples: []prompb.Sample{{Value: 1, Timestamp: at}}},
	)
	i.From, i.To, i.Verify = "2023-11-14T22:00:00Z", "2023-11-14T23:00:00Z", VerifyAll
	if err := i.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	o := adaptertest.Options(t, write.Buffered)
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportFetch(t.Context(), o, i, c) })
	for _, want := range []string{
		"3 samples imported", `2023-11-14T22:00:00.000Z: {__name__="a"}: histogram at 1700000000001: `, ", and 1 others\n", "1 parts could not be read, or not whole", "compared: 2 series, 3 samples", "0 series differ",
	} {
		if code != command.ExitIncomplete || !strings.Contains(out, want) {
			t.Errorf("%d: %s lacks %s", code, out, want)
		}
	}
	if n := len(storedIn(t, o)); n != 3 {
		t.Errorf("%d samples are stored", n)
	}
}

// TestImportNative: what VictoriaMetrics exports in its own format is stored as its lines of JSON are. A bad block is left out, if that is
// wanted.
func TestImportNative(t *testing.T) {
	const recorded = "../../prometheus/vmnative/testdata/v1.150."
	lines, want := DefaultImportOptions(), adaptertest.Options(t, write.Buffered)
	lines.Files = []string{recorded + "jsonl.gz"}
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportLines(t.Context(), want, lines, c) }); code != 0 {
		t.Fatal(out)
	}
	i, o := DefaultImportNativeOptions(), adaptertest.Options(t, write.Buffered)
	i.Files, i.Verify = []string{recorded + "native"}, VerifyAll
	if err := i.Validate(); err != nil {
		t.Fatal(err)
	}
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportNative(t.Context(), o, i, c) })
	if code != 0 || !strings.Contains(out, "0 series differ, 0 points are missing") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(storedIn(t, want), storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
	text, err := os.ReadFile(i.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	bad := textFile(t, string(text[:16])+"\x00\x00\x00\x02m\x01\x00\x00\x00\x01\x07"+string(text[16:]))
	i.Files = []string{bad}
	var said strings.Builder
	if err := ImportNative(t.Context(), o, i, command.Console{Out: &said, Err: &said}); err == nil || !strings.Contains(err.Error(), "block 1: it is too short") {
		t.Errorf("%v", err)
	}
	i.Skip, o = true, adaptertest.Options(t, write.Buffered)
	code, out = commandtest.Code(t, func(c command.Console) error { return ImportNative(t.Context(), o, i, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, bad+": block 1: it is too short") || !strings.Contains(out, "1 parts could not be read, or not whole") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(storedIn(t, want), storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
	i.Files = []string{textFile(t, string(text[:len(text)-1]))}
	if err := ImportNative(t.Context(), o, i, command.Console{Out: &said, Err: &said}); err == nil || !strings.Contains(err.Error(), "unexpected EOF") {
		t.Errorf("%v", err)
	}
}
