package migrate

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// flakyProxy returns the URL of a server that passes requests on. Of those for exports it refuses each third one, and cuts the answer of
// each third one short.
func flakyProxy(t *testing.T, base string) string {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(resp *http.Response) error {
		if strings.Contains(resp.Request.URL.Path, "/export/") && n.Load()%3 == 1 {
			resp.Body = io.NopCloser(io.LimitReader(resp.Body, 1000))
			resp.Header.Del("Content-Length")
			resp.ContentLength = -1
		}
		return nil
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/export/") && n.Add(1)%3 == 0 {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestExportPatience: an adapter that fails now and then is asked again, and the blocks are whole.
func TestExportPatience(t *testing.T) {
	o, want := filled(t)
	a, stop := adaptertest.Run(t, o)
	defer stop()
	e := exportOf(t, t.TempDir(), func(e *ExportBlocksOptions) { e.URL, e.Length = flakyProxy(t, "http://"+a.Addr()), 18*time.Hour })
	code, out := commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), o, e, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, " were left out") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, answerOfPrometheus(t, e.Dir)); diff != "" {
		t.Error(diff)
	}
	e.Patience, e.Dir = 0, t.TempDir()
	if err := ExportBlocks(t.Context(), o, e, command.Console{Out: io.Discard, Err: io.Discard}); err == nil {
		t.Error("without patience the export does not fail")
	}
}

// TestExportFilesPatience: files that were written before a failure count once.
func TestExportFilesPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := DefaultExportFilesOptions()
		e.Dir, e.State = t.TempDir(), filepath.Join(t.TempDir(), "state")
		asked := 0
		source := func(_ context.Context, q graphitefiles.ExportQuery, use func(*graphitefiles.Exported) error) error {
			asked++
			given := 0
			for n, path := range []string{"a", "b1", "b2", "c"} {
				at := pipeline.FilePlace{Part: 1, Name: path[:1]} // b1 and b2 are at one place
				if at.Reached(q.After) {
					continue
				}
				if given++; given > 2 && asked < 4 {
					return errors.New("it is away")
				}
				if err := use(&graphitefiles.Exported{At: at, Nth: n, Of: 4, Path: path, Points: 1, Data: []byte(path)}); err != nil {
					return err
				}
			}
			return nil
		}
		code, out := commandtest.Code(t, func(c command.Console) error { return e.run(t.Context(), c, source, "here") })
		if code != 0 || !strings.Contains(out, "4 points of 4 files exported") || asked != 4 {
			t.Errorf("%d: %s, after %d requests", code, out, asked)
		}
		for _, path := range []string{"a", "b1", "b2", "c"} {
			if text, err := os.ReadFile(filepath.Join(e.Dir, path)); err != nil || string(text) != path {
				t.Errorf("%s: %q, %v", path, text, err)
			}
		}
		_, done, all := mustState(t, &e).Before()
		if want := (pipeline.FilesDone{Files: 4, Points: 4}); done != want || !all {
			t.Errorf("the state has %+v, want %+v", done, want)
		}
	})
}

// mustState opens the state of an export that has ended.
func mustState(t *testing.T, e *ExportFilesOptions) *pipeline.FilesState {
	t.Helper()
	s, err := pipeline.OpenFilesState(e.State, e.named("here"), e.Dir, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
