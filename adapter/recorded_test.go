package adapter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

// A recordedExchange is a line of testdata/recorded/requests.jsonl: what a program of Mimir or Thanos asked a Prometheus, and
// what that answered. testdata/recorded/record.sh writes it.
type recordedExchange struct {
	Method, URI string
	Header      map[string]string
	Text        string
	Bytes       []byte

	Status      int
	Type        string
	AnswerText  string
	AnswerBytes []byte
}

// TestRecordedRequests sends what programs of Mimir and Thanos ask a Prometheus, in their order, and compares the meaning of
// the answers with what the Prometheus answered.
func TestRecordedRequests(t *testing.T) {
	o := DefaultOptions()
	o.Engine = tables.EngineMemory
	o.PromConfig = mustParseProm(t, t.TempDir(), "global: {external_labels: {site: berlin}}")
	a, _ := runAdapter(t, o)
	file, err := os.Open("testdata/recorded/requests.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	checked := map[string]int{}
	var metadata []recordedExchange
	for lines := json.NewDecoder(bufio.NewReader(file)); ; {
		var e recordedExchange
		if err := lines.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		checked[e.kind()]++
		e.check(t, a)
		if e.kind() == "/metadata" {
			metadata = append(metadata, e)
		}
	}
	for _, e := range metadata { // remote write 2.0 has brought some again by now, and the type alone with other series
		e.check(t, a)
	}
	for kind := range recordedChecks() {
		if checked[kind] == 0 {
			t.Errorf("no request of the kind %q was recorded", kind)
		}
	}
}

// check sends a request, and compares the answers.
func (e *recordedExchange) check(t *testing.T, a *Adapter) {
	t.Helper()
	got := httptest.NewRecorder()
	a.server.Handler.ServeHTTP(got, e.request(t))
	if got.Code != e.Status {
		t.Errorf("%s: %d %s, want %d %s", e.name(), got.Code, got.Body, e.Status, e.AnswerText)
		return
	}
	if err := recordedChecks()[e.kind()](e, got); err != nil {
		t.Errorf("%s: %v", e.name(), err)
	}
}

func (e *recordedExchange) name() string {
	return fmt.Sprintf("%s %s %.200s of %s", e.Method, e.URI, e.Text, e.Header["User-Agent"])
}

func (e *recordedExchange) request(t *testing.T) *http.Request {
	r := httptest.NewRequestWithContext(t.Context(), e.Method, e.URI, bytes.NewReader(append([]byte(e.Text), e.Bytes...)))
	for name, v := range e.Header {
		r.Header.Set(name, v)
	}
	return r
}

// kind returns the end of the path that tells what an answer means.
func (e *recordedExchange) kind() string {
	u, err := url.Parse(e.URI)
	if err != nil {
		return e.URI
	}
	path := strings.TrimPrefix(strings.TrimPrefix(u.Path, "/prometheus"), "/api/v1")
	if strings.HasPrefix(path, "/label/") {
		return "/label"
	}
	return path
}

// recordedChecks compare answers of each kind.
func recordedChecks() map[string]func(*recordedExchange, *httptest.ResponseRecorder) error {
	nothing := func(*recordedExchange, *httptest.ResponseRecorder) error { return nil }
	return map[string]func(*recordedExchange, *httptest.ResponseRecorder) error{
		"/push": nothing, "/write": nothing, "/otlp/v1/metrics": nothing, "/-/ready": nothing,
		"/read": sameRead, "/query": sameData, "/query_range": sameData, "/series": sameData, "/labels": sameData, "/label": sameData,
		"/query_exemplars": sameData, "/rules": sameData, "/targets": sameTargets, "/metadata": hasMetadata,
		"/status/config": hasExternalLabels, "/status/buildinfo": hasVersion, "/metrics": isText,
	}
}

// sameData compares the data of JSON answers. Series are in no order.
func sameData(e *recordedExchange, r *httptest.ResponseRecorder) error {
	got, want := dataOf(r.Body.Bytes()), dataOf([]byte(e.AnswerText))
	if want == nil || !cmp.Equal(got, want) {
		return errors.New(cmp.Diff(want, got))
	}
	return nil
}

func dataOf(body []byte) any {
	var answer struct {
		Status string
		Data   any
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Status != "success" {
		return string(body)
	}
	sortAny(answer.Data)
	if m, ok := answer.Data.(map[string]any); ok {
		sortAny(m["result"])
	}
	return answer.Data
}

// sortAny sorts a list by its texts.
func sortAny(data any) {
	if list, ok := data.([]any); ok {
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	}
}

// sameRead compares the samples of remote reads in all bits. A Prometheus adds its external labels, which we leave to the client.
func sameRead(e *recordedExchange, r *httptest.ResponseRecorder) error {
	if got := r.Header().Get("Content-Type"); got != e.Type {
		return fmt.Errorf("content type %s, want %s", got, e.Type)
	}
	want, err := samplesRead(e.Type, append([]byte(e.AnswerText), e.AnswerBytes...), "site")
	if err != nil {
		return err
	}
	got, err := samplesRead(e.Type, r.Body.Bytes(), "")
	if err == nil && !cmp.Equal(got, want) {
		return errors.New(cmp.Diff(want, got))
	}
	return err
}

// samplesRead returns what the answer of a remote read has, by the labels without one.
func samplesRead(kind string, body []byte, without string) (map[string][]string, error) {
	all := map[string][]string{}
	name := func(ls []prompb.Label) string {
		var b strings.Builder
		for _, l := range ls {
			if l.Name != without {
				fmt.Fprintf(&b, "%s=%q,", l.Name, l.Value)
			}
		}
		return b.String()
	}
	if kind == "application/x-protobuf" {
		raw, err := snappy.Decode(nil, body)
		if err != nil {
			return nil, err
		}
		var answer prompb.ReadResponse
		if err := proto.Unmarshal(raw, &answer); err != nil {
			return nil, err
		}
		for _, result := range answer.Results {
			for _, s := range result.Timeseries {
				for _, one := range s.Samples {
					all[name(s.Labels)] = append(all[name(s.Labels)], fmt.Sprintf("%d %x", one.Timestamp, math.Float64bits(one.Value)))
				}
				for i := range s.Histograms {
					s.Histograms[i].ResetHint = 0
					all[name(s.Labels)] = append(all[name(s.Labels)], s.Histograms[i].String())
				}
			}
		}
		return all, nil
	}
	frames := remote.NewChunkedReader(bytes.NewReader(body), 50e6, nil)
	for {
		var frame prompb.ChunkedReadResponse
		if err := frames.NextProto(&frame); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		for _, s := range frame.ChunkedSeries {
			for _, c := range s.Chunks {
				samples, err := chunkSamples(c)
				if err != nil {
					return nil, err
				}
				all[name(s.Labels)] = append(all[name(s.Labels)], samples...)
			}
		}
	}
}

func chunkSamples(c prompb.Chunk) (all []string, err error) {
	chunk, err := chunkenc.FromData(chunkenc.Encoding(c.Type), c.Data)
	if err != nil {
		return nil, err
	}
	it := chunk.Iterator(nil)
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		if at := it.AtT(); at < c.MinTimeMs || at > c.MaxTimeMs {
			return nil, fmt.Errorf("a sample at %d in a chunk from %d to %d", at, c.MinTimeMs, c.MaxTimeMs)
		}
		if kind == chunkenc.ValFloat {
			at, v := it.At()
			all = append(all, fmt.Sprintf("%d %x", at, math.Float64bits(v)))
			continue
		}
		at, h := it.AtFloatHistogram(nil)
		all = append(all, fmt.Sprintf("%d %s", at, h.String()))
	}
	return all, it.Err()
}

// hasMetadata wants the metadata that Mimir's test has sent. A Prometheus keeps none of remote write.
func hasMetadata(e *recordedExchange, r *httptest.ResponseRecorder) error {
	data, ok := dataOf(r.Body.Bytes()).(map[string]any)
	u, err := url.Parse(e.URI)
	if err != nil || !ok {
		return fmt.Errorf("%w: %s", err, r.Body)
	}
	if metric := u.Query().Get("metric"); metric != "" {
		one, _ := data[metric].([]any)
		if len(one) != 1 || one[0].(map[string]any)["help"] == "" {
			return fmt.Errorf("no text for %s: %s", metric, r.Body)
		}
	}
	if len(data) == 0 {
		return fmt.Errorf("no metadata: %s", r.Body)
	}
	return nil
}

// hasExternalLabels reads the labels as a Thanos sidecar does, which does not start without them.
func hasExternalLabels(_ *recordedExchange, r *httptest.ResponseRecorder) error {
	var answer struct {
		Data struct{ YAML string }
	}
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
		return err
	}
	var config struct {
		Global struct {
			Labels map[string]string `yaml:"external_labels"`
		}
	}
	if err := yaml.Unmarshal([]byte(answer.Data.YAML), &config); err != nil || config.Global.Labels["site"] != "berlin" {
		return fmt.Errorf("%w: external labels %v: %s", err, config.Global.Labels, answer.Data.YAML)
	}
	return nil
}

// hasVersion wants a version that takes matchers for labels.
func hasVersion(_ *recordedExchange, r *httptest.ResponseRecorder) error {
	var answer struct {
		Data struct{ Version string }
	}
	var major, minor, patch int
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil {
		return err
	}
	if _, err := fmt.Sscanf(answer.Data.Version, "%d.%d.%d", &major, &minor, &patch); err != nil || major < 3 {
		return fmt.Errorf("version %q: %w", answer.Data.Version, err)
	}
	return nil
}

// sameTargets wants lists of targets, which may be empty.
func sameTargets(_ *recordedExchange, r *httptest.ResponseRecorder) error {
	data, ok := dataOf(r.Body.Bytes()).(map[string]any)
	if _, active := data["activeTargets"].([]any); !ok || !active {
		return fmt.Errorf("no list of targets: %s", r.Body)
	}
	return nil
}

// isText parses the metrics as old parsers do. Thanos looks for the lowest time of a TSDB there, and takes 1970 without it.
func isText(_ *recordedExchange, r *httptest.ResponseRecorder) error {
	p := expfmt.NewTextParser(model.LegacyValidation)
	_, err := p.TextToMetricFamilies(r.Body)
	return err
}
