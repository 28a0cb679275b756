package migrate

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

func exportOf(t *testing.T, dir string, change ...func(*ExportBlocksOptions)) ExportBlocksOptions {
	t.Helper()
	e := DefaultExportBlocksOptions()
	e.Dir = dir
	for _, c := range change {
		c(&e)
	}
	if err := e.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	return e
}

// blockNames returns the names of what is in a directory.
func blockNames(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// TestExportBlocks: a TSDB that opens exported blocks answers what the store has, in all bits, and what is
// imported of them is the same again. Blocks of another length, through a running adapter, have the same.
func TestExportBlocks(t *testing.T) {
	dir := promtest.DataDir(t)
	want := answerOfPrometheus(t, dir)
	o := adaptertest.Options(t, write.Buffered)
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, blocksOf(t, dir), c) }); code != 0 {
		t.Fatal(out)
	}
	e := exportOf(t, t.TempDir())
	code, out := commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), o, e, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "samples in 6 blocks exported") || !strings.Contains(out, "1 exemplars were left out, which blocks cannot hold") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, answerOfPrometheus(t, e.Dir)); diff != "" {
		t.Error(diff)
	}
	// The same again replaces the blocks.
	names := blockNames(t, e.Dir) // and wal
	if code, out := commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), o, e, c) }); code != command.ExitIncomplete || !cmp.Equal(names, blockNames(t, e.Dir)) {
		t.Errorf("%d: %s, %v", code, out, names)
	}

	again := adaptertest.Options(t, write.Buffered)
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), again, blocksOf(t, e.Dir), c) }); code != 0 {
		t.Fatal(out)
	}
	a, stop := adaptertest.Run(t, again)
	defer stop()
	if diff := cmp.Diff(want, samplesIn(t, a)); diff != "" {
		t.Error(diff)
	}
	e = exportOf(t, t.TempDir(), func(e *ExportBlocksOptions) {
		e.URL, e.Length, e.State = "http://"+a.Addr(), 6*time.Hour, filepath.Join(t.TempDir(), "state")
	})
	code, out = commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), again, e, c) })
	if code != 0 || !strings.Contains(out, "samples in 3 blocks exported") {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, answerOfPrometheus(t, e.Dir)); diff != "" {
		t.Error(diff)
	}
	code, out = commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), again, e, c) })
	if code != 0 || !strings.Contains(out, "0 samples in 0 blocks exported") || !strings.Contains(out, "in 3 blocks before") {
		t.Errorf("%d: %s", code, out)
	}
}

// TestExportStartTimes: start times go into blocks with --start-times alone, and come back.
func TestExportStartTimes(t *testing.T) {
	starts := func(o adapter.Options) (n int) {
		err := session.WriteLocal(t.Context(), o, func(ctx context.Context, a *adapter.Adapter) error {
			return a.Samples().Read(ctx, admin.SamplesQuery{To: math.MaxInt64}, func(b *columns.Batch) error {
				for _, one := range b.Points.Objects {
					start, err := histogramcodec.DecodeStartTime(one.Data)
					if one.Kind == storage.KindStartTime && err == nil && start == -500 {
						n++
					}
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	o := adaptertest.Options(t, write.Buffered)
	err := session.WriteLocal(t.Context(), o, func(ctx context.Context, a *adapter.Adapter) error {
		b := &columns.Batch{}
		ref := b.Series(promtest.DataLabels(1))
		for at := promtest.DataBegin; at < promtest.DataBegin+5*promtest.DataHour; at += promtest.DataMinute {
			b.Points.Add(ref, at, float64(at))
			b.Points.AddObject(ref, at, storage.KindStartTime, histogramcodec.AppendStartTime(nil, -500))
		}
		return a.Appendable().Store(ctx, b)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, with := range []bool{false, true} {
		e := exportOf(t, t.TempDir(), func(e *ExportBlocksOptions) { e.Starts = with })
		wantCode, want, wantText := command.ExitIncomplete, 0, "300 start times were left out (--start-times)"
		if with {
			wantCode, want, wantText = 0, 300, "300 samples in 3 blocks exported"
		}
		if code, out := commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), o, e, c) }); code != wantCode || !strings.Contains(out, wantText) {
			t.Errorf("%d: %s", code, out)
		}
		again := adaptertest.Options(t, write.Buffered)
		if code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), again, blocksOf(t, e.Dir), c) }); code != 0 {
			t.Error(out)
		}
		if got := starts(again); got != want {
			t.Errorf("%d start times came back, want %d", got, want)
		}
	}
}

// TestExportSomeBlocks exports series of selectors in a time, with a label.
func TestExportSomeBlocks(t *testing.T) {
	dir := promtest.DataDir(t)
	o := adaptertest.Options(t, write.Buffered)
	if code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, blocksOf(t, dir), c) }); code != 0 {
		t.Fatal(out)
	}
	e := exportOf(t, t.TempDir(), func(e *ExportBlocksOptions) {
		e.Match, e.Labels, e.From, e.To = []string{`m1{n="1"}`, `{n="3"}`}, []string{"from=x"}, "2023-11-15T00:30:00Z", "2023-11-15T03:00:00Z"
	})
	if code, out := commandtest.Code(t, func(c command.Console) error { return ExportBlocks(t.Context(), o, e, c) }); code != 0 {
		t.Fatal(out)
	}
	all, from, to := answerOfPrometheus(t, e.Dir), e.from, e.to
	for key := range all {
		if !strings.HasPrefix(key, `{__name__="m1", from="x", n="1"} `) && !strings.HasPrefix(key, `{__name__="m0", from="x", n="3"} `) {
			t.Errorf("%s was exported", key)
		}
	}
	want := 0
	for key := range answerOfPrometheus(t, dir) {
		ls, at, _ := strings.Cut(key, "} ")
		if ms := mustInt(t, at); (strings.HasSuffix(ls, `n="1"`) || strings.HasSuffix(ls, `n="3"`)) && ms >= from && ms <= to {
			want++
		}
	}
	if len(all) != want || want == 0 {
		t.Errorf("%d samples, want %d", len(all), want)
	}
}

// TestExportBlocksMistakes: mistakes of the command line are named, and an empty store.
func TestExportBlocksMistakes(t *testing.T) {
	e := DefaultExportBlocksOptions()
	e.Length = 3 * time.Hour
	if err := e.Validate(time.Now()); err == nil || !strings.Contains(err.Error(), "--block-duration=3h0m0s: want 2h, 6h") {
		t.Errorf("%v", err)
	}
	o := adaptertest.Options(t, write.Buffered)
	opened(t, o, func(*adapter.Adapter) {})
	var out strings.Builder
	if err := ExportBlocks(t.Context(), o, exportOf(t, t.TempDir()), command.Console{Out: &out, Err: &out}); err == nil || err.Error() != "no series was found" {
		t.Errorf("%v", err)
	}
}
