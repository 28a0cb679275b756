package migrate

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// shownTransfers asks an adapter for its transfers.
func shownTransfers(t *testing.T, a *adapter.Adapter) (list []admin.Transferred) {
	t.Helper()
	status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+admin.TransfersPath, nil)
	var answer struct {
		Data struct{ Transfers []admin.Transferred }
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatal(status, body, err)
	}
	return answer.Data.Transfers
}

// Commands that work by way of a running adapter tell it how far they are, and how they ended.
func TestTransfersReported(t *testing.T) {
	a, stop := adaptertest.Run(t, adaptertest.Options(t, write.Through))
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
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportOpenTSDB(t.Context(), a.Options(), i, c) }); code != command.ExitIncomplete {
		t.Error(code, out)
	}
	i.Skip, i.Files = false, []string{bad}
	if err := ImportOpenTSDB(t.Context(), a.Options(), i, command.Console{Out: io.Discard, Err: io.Discard}); err == nil {
		t.Error("a bad line is no error")
	}
	e := DefaultExportOptions()
	e.URL, e.Output = base, filepath.Join(dir, "out.txt")
	if err := e.Validate(a.Options().Now()); err != nil {
		t.Fatal(err)
	}
	if code, out := commandtest.Code(t, func(c command.Console) error { return ExportOpenTSDB(t.Context(), a.Options(), e, c) }); code != 0 {
		t.Error(code, out)
	}
	w := ExportFilesOptions{URL: base, Dir: filepath.Join(dir, "whisper")}
	w.Match = []string{"**"}
	if err := ExportWhisper(t.Context(), a.Options(), w, command.Console{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Log(err) // it may find no name
	}
	list := shownTransfers(t, a)
	slices.SortFunc(list, func(a, b admin.Transferred) int { return a.Began.Compare(b.Began) })
	if len(list) != 4 {
		t.Fatalf("%+v", list)
	}
	for n, want := range []struct {
		kind, state  string
		total, done  int64
		points, lost int64
	}{{"import opentsdb", "done", 2, 2, 4, 1}, {"import opentsdb", "failed", 1, 0, 1, 1}, {"export opentsdb", "done", 2, 2, 4, 0}} {
		got := list[n]
		if got.Kind != want.kind || got.Progress == nil || got.Running || got.Progress.State != want.state || got.Progress.Total != want.total || got.Progress.Done != want.done || got.Points != want.points || got.Refused != want.lost {
			t.Errorf("%+v %+v, want %+v", got, got.Progress, want)
		}
	}
	if told := list[0].Progress; told.Bytes == 0 || told.BytesDone != told.Bytes || told.Bad != 1 || told.Points != 4 {
		t.Errorf("%+v", told)
	}
	if told := list[1].Progress; !strings.Contains(told.Error, "<img src=x>.txt:2") {
		t.Errorf("%+v", told)
	}
}

// Exports of samples, and copies, tell it too.
func TestSamplesReported(t *testing.T) {
	from, _ := filled(t)
	from.AdminAPI = true
	a, stop := adaptertest.Run(t, from)
	defer stop()
	base, dir, now := "http://"+a.Addr(), t.TempDir(), time.Now()
	lines, text, blocks := DefaultExportLinesOptions(), DefaultExportTextOptions(), DefaultExportBlocksOptions()
	lines.URL, lines.Output = base, filepath.Join(dir, "lines")
	text.URL, text.Output = base, filepath.Join(dir, "text")
	blocks.URL, blocks.Dir = base, filepath.Join(dir, "blocks")
	lines.To, blocks.To = "2023-11-15T09:00:00Z", "2023-11-15T09:00:00Z"
	to, stopTo := adaptertest.Run(t, adaptertest.Options(t, write.Buffered))
	defer stopTo()
	copies := DefaultCopyOptions()
	copies.From.Given, copies.To.Given, copies.Verify = base, "http://"+to.Addr(), VerifyAll
	for _, err := range []error{lines.Validate(now), text.Validate(now), blocks.Validate(now), copies.Validate(now)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for n, run := range []func(command.Console) error{
		func(c command.Console) error { return ExportLines(t.Context(), a.Options(), lines, c) },
		func(c command.Console) error { return ExportOpenMetrics(t.Context(), a.Options(), text, c) },
		func(c command.Console) error { return ExportBlocks(t.Context(), a.Options(), blocks, c) },
		func(c command.Console) error { return Copy(t.Context(), copies, c) },
	} {
		if code, out := commandtest.Code(t, run); code != 0 && code != command.ExitIncomplete {
			t.Error(n, code, out)
		}
	}
	first, second := shownTransfers(t, a), shownTransfers(t, to)
	if len(first) != 4 || len(second) != 1 {
		t.Errorf("%d and %d transfers", len(first), len(second))
	}
	for _, list := range [][]admin.Transferred{first, second} {
		for _, got := range list {
			want := map[string]string{
				"export victoriametrics": "days 2/2 4069", "export openmetrics": "metrics 0/0 4072", "export prometheus": "blocks 17/17 5512", "copy from here": " 0/0 5513", "copy into here": " 0/0 5513",
			}[got.Kind]
			if got.Progress == nil || got.Running || got.Progress.State != "done" || got.Points == 0 {
				t.Errorf("%+v %+v", got, got.Progress)
				continue
			}
			if have := fmt.Sprintf("%s %d/%d %d", got.Progress.Unit, got.Progress.Done, got.Progress.Total, got.Progress.Points); have != want {
				t.Errorf("%s: %s, want %s", got.Kind, have, want)
			}
		}
	}
}
