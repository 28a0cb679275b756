package migrate

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

const describedMetrics = `{"status":"success","data":{
	"m1":[{"type":"counter","help":"How \"many\".","unit":""},{"type":"gauge","help":"other","unit":"s"}],
	"h":[{"type":"histogram","help":"","unit":"seconds"}], "n":[], "x":[{"type":"new","help":"x","unit":""}]}}`

var wantMetrics = map[string]metadata.Metadata{
	"m1": {Type: "counter", Help: "How \"many\"."}, "h": {Type: "histogram", Unit: "seconds"}, "x": {Type: "unknown", Help: "x"},
}

// TestImportMetadata: an import of blocks brings the metadata of a file or of a server, into tables and into an adapter.
func TestImportMetadata(t *testing.T) {
	asked := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = user + password + r.URL.Path
		_, _ = io.WriteString(w, describedMetrics)
	}))
	defer server.Close()
	a, stop := adaptertest.Run(t, adaptertest.Options(t, write.Buffered))
	defer stop()
	i := blocksOf(t, promtest.DataDir(t), func(i *ImportBlocksOptions) {
		i.Match, i.URL = []string{"m1"}, "http://"+a.Addr()
		i.Metadata = strings.Replace(server.URL, "http://", "http://me:secret@", 1)
	})
	code, out := commandtest.Code(t, func(c command.Console) error {
		return ImportBlocks(t.Context(), adaptertest.Options(t, write.Buffered), i, c)
	})
	if code != 0 || asked != "mesecret"+metadataPath || !strings.Contains(out, "metadata of 3 metrics stored") {
		t.Errorf("%d, asked for %s: %s", code, asked, out)
	}
	got, err := a.Samples().Metadata(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(got, func(name string, _ metadata.Metadata) bool { return wantMetrics[name] == metadata.Metadata{} })
	if diff := cmp.Diff(wantMetrics, got); diff != "" {
		t.Error(diff)
	}
}

// TestBadMetadata: what is no answer of a Prometheus ends an import before it begins.
func TestBadMetadata(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	file := filepath.Join(t.TempDir(), "metadata.json")
	for text, want := range map[string]string{
		`{"status":"error","error":"no"}`: `status "error", error "no"`, `{"status":"success"}`: "it has no data", "x": "invalid character", `{"status":"success","data":[]}`: "cannot unmarshal array",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readMetadata(t.Context(), file); err == nil || !strings.Contains(err.Error(), "--metadata: "+file+" is no answer of /api/v1/metadata: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for from, want := range map[string]string{server.URL: "answers 404", "/nonexistent": "no such file", "http://127.0.0.1:1": "refused"} {
		if _, err := readMetadata(t.Context(), from); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", from, err)
		}
	}
	i := blocksOf(t, promtest.DataDir(t), func(i *ImportBlocksOptions) { i.Metadata = "/nonexistent" })
	o := adaptertest.Options(t, write.Buffered)
	var out bytes.Buffer
	if err := ImportBlocks(t.Context(), o, i, command.Console{Out: &out, Err: &out}); err == nil || strings.Contains(out.String(), "imported") {
		t.Errorf("%v: %s", err, out.String())
	}
}
