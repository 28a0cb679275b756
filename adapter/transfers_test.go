package adapter

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Backups are recorded, over restarts; requests of imports are counted.
func TestBackupsAndTransfers(t *testing.T) {
	o := storeTestOptions(t, storage.WriteThrough)
	a, stop := runAdapter(t, o)
	if status, body := promtest.Do(t, http.MethodPost, "http://"+a.Addr()+snapshotPath, nil); status != http.StatusOK {
		t.Fatal(status, body)
	}
	post(t, "http://"+a.Addr()+importPath, "application/octet-stream", "nonsense") // what is wrong with it is in the answer
	_, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+transfersPath, nil)
	if !strings.Contains(body, `"kind":"import","client":"127.0.0.1"`) || !strings.Contains(body, `"requests":1,"failedRequests":0,"receivedBytes":8,`) || !strings.Contains(body, `"points":0,"refused":1,`) || !strings.Contains(body, `"running":true`) {
		t.Error(body)
	}
	stop()
	dir := filepath.Join(t.TempDir(), "copy")
	var out strings.Builder
	if err := Backup(t.Context(), o, StoreOptions{Dir: dir}, &out); err != nil {
		t.Fatal(err)
	}
	a, stop = runAdapter(t, o)
	defer stop()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+backupsPath, nil)
	if status != http.StatusOK || !strings.Contains(body, `"recorded":true`) || strings.Count(body, `"there":true`) != 2 || !strings.Contains(body, `"kind":"snapshot"`) || !strings.Contains(body, dir) || strings.Contains(body, `"bytes":0,`) {
		t.Error(status, body)
	}
}

// shownTransfers asks an adapter for its transfers.
func shownTransfers(t *testing.T, a *Adapter) (list []transferred) {
	t.Helper()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+transfersPath, nil)
	var answer struct {
		Data struct{ Transfers []transferred }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatal(status, body, err)
	}
	return answer.Data.Transfers
}

// Commands that work by way of a running adapter tell it how far they are, and how they ended.
func TestTransfersTold(t *testing.T) {
	a, stop := runAdapter(t, storeTestOptions(t, storage.WriteThrough))
	defer stop()
	base := "http://" + a.Addr()
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.txt"), filepath.Join(dir, "<img src=x>.txt")
	for name, text := range map[string]string{good: "m 1500000000 1 host=a\nm 1500000060 2 host=a\nn 1500000000 3 host=a\n", bad: "m 1500000120 1 host=a\nno point\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	i := DefaultImportOptions()
	i.URL, i.Files, i.Skip = base, []string{good, bad}, true
	if code, out := runCheck(t, func(c Console) error { return ImportOpenTSDB(t.Context(), a.o, i, c) }); code != ExitIncomplete {
		t.Error(code, out)
	}
	i.Skip, i.Files = false, []string{bad}
	if err := ImportOpenTSDB(t.Context(), a.o, i, Console{Out: io.Discard, Err: io.Discard}); err == nil {
		t.Error("a bad line is no error")
	}
	e := DefaultExportOptions()
	e.URL, e.Output = base, filepath.Join(dir, "out.txt")
	if err := e.Validate(a.o.Now()); err != nil {
		t.Fatal(err)
	}
	if code, out := runCheck(t, func(c Console) error { return ExportOpenTSDB(t.Context(), a.o, e, c) }); code != 0 {
		t.Error(code, out)
	}
	w := ExportFilesOptions{URL: base, Dir: filepath.Join(dir, "whisper")}
	w.Match = []string{"**"}
	if err := ExportWhisper(t.Context(), a.o, w, Console{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Log(err) // it may find no name
	}
	list := shownTransfers(t, a)
	slices.SortFunc(list, func(a, b transferred) int { return a.Began.Compare(b.Began) })
	if len(list) != 4 {
		t.Fatalf("%+v", list)
	}
	for n, want := range []struct {
		kind, state  string
		total, done  int64
		points, lost int64
	}{{"import opentsdb", toldDone, 2, 2, 4, 1}, {"import opentsdb", toldFailed, 1, 0, 1, 1}, {"export opentsdb", toldDone, 2, 2, 4, 0}} {
		got := list[n]
		if got.Kind != want.kind || got.Told == nil || got.Running || got.Told.State != want.state || got.Told.Total != want.total || got.Told.Done != want.done || got.Points != want.points || got.Refused != want.lost {
			t.Errorf("%+v %+v, want %+v", got, got.Told, want)
		}
	}
	if told := list[0].Told; told.Bytes == 0 || told.BytesDone != told.Bytes || told.Bad != 1 || told.Points != 4 {
		t.Errorf("%+v", told)
	}
	if told := list[1].Told; !strings.Contains(told.Error, "<img src=x>.txt:2") {
		t.Errorf("%+v", told)
	}
}

// Exports of samples, and copies, tell it too.
func TestSamplesTold(t *testing.T) {
	from, _ := filled(t)
	from.AdminAPI = true
	a, stop := runAdapter(t, from)
	defer stop()
	base, dir, now := "http://"+a.Addr(), t.TempDir(), time.Now()
	lines, text, blocks := DefaultExportLinesOptions(), DefaultExportTextOptions(), DefaultExportBlocksOptions()
	lines.URL, lines.Output = base, filepath.Join(dir, "lines")
	text.URL, text.Output = base, filepath.Join(dir, "text")
	blocks.URL, blocks.Dir = base, filepath.Join(dir, "blocks")
	lines.To, blocks.To = "2023-11-15T09:00:00Z", "2023-11-15T09:00:00Z"
	to, stopTo := runAdapter(t, storeTestOptions(t, storage.WriteBuffered))
	defer stopTo()
	copies := DefaultCopyOptions()
	copies.From.Given, copies.To.Given, copies.Verify = base, "http://"+to.Addr(), VerifyAll
	for _, err := range []error{lines.Validate(now), text.Validate(now), blocks.Validate(now), copies.Validate(now)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, command := range []func(Console) error{
		func(c Console) error { return ExportLines(t.Context(), a.o, lines, c) },
		func(c Console) error { return ExportOpenMetrics(t.Context(), a.o, text, c) },
		func(c Console) error { return ExportBlocks(t.Context(), a.o, blocks, c) },
		func(c Console) error { return Copy(t.Context(), copies, c) },
	} {
		if code, out := runCheck(t, command); code != 0 && code != ExitIncomplete {
			t.Error(n, code, out)
		}
	}
	first, second := shownTransfers(t, a), shownTransfers(t, to)
	if len(first) != 4 || len(second) != 1 {
		t.Errorf("%d and %d transfers", len(first), len(second))
	}
	for _, list := range [][]transferred{first, second} {
		for _, got := range list {
			want := map[string]string{
				"export victoriametrics": "days 2/2 4069", "export openmetrics": "metrics 0/0 4072", "export prometheus": "blocks 17/17 5512", "copy from here": " 0/0 5513", "copy into here": " 0/0 5513",
			}[got.Kind]
			if got.Told == nil || got.Running || got.Told.State != toldDone || got.Points == 0 {
				t.Errorf("%+v %+v", got, got.Told)
				continue
			}
			if have := fmt.Sprintf("%s %d/%d %d", got.Told.Unit, got.Told.Done, got.Told.Total, got.Told.Points); have != want {
				t.Errorf("%s: %s, want %s", got.Kind, have, want)
			}
		}
	}
}

// What is told is bounded and checked.
func TestTransfersToldBadly(t *testing.T) {
	x := &transfers{now: time.Now}
	for body, want := range map[string]int{`{"kind":"k"}`: 204, `{`: 400, `{"kind":"k","state":"x"}`: 400, `{"kind":"` + strings.Repeat("x", maxToldBytes) + `"}`: 400} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, toldPath, strings.NewReader(body))
		r.Header.Set(transferHeader, "0123456789abcdef")
		if x.told(w, r); w.Code != want {
			t.Errorf("%.30s: %d", body, w.Code)
		}
	}
	w := httptest.NewRecorder()
	if x.told(w, httptest.NewRequest(http.MethodPost, toldPath, strings.NewReader("{}"))); w.Code != http.StatusBadRequest {
		t.Error("without an id:", w.Code)
	}
	for n := range 2 * mostTransfers {
		x.of(fmt.Sprintf("%08x", n), "k", "c")
	}
	if len(x.list) > mostTransfers {
		t.Error(len(x.list))
	}
}
