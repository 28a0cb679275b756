package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// blocksOf returns the options of an import of a directory.
func blocksOf(t *testing.T, dir string, change ...func(*ImportBlocksOptions)) ImportBlocksOptions {
	t.Helper()
	i := DefaultImportBlocksOptions()
	i.Dir, i.Temp = dir, t.TempDir()
	for _, c := range change {
		c(&i)
	}
	if err := i.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	return i
}

// samplesIn returns all samples of a store.
func samplesIn(t *testing.T, a *adapter.Adapter) promtest.Samples {
	t.Helper()
	return promtest.SamplesOf(t, queryable.New(a.Store(), a.Names(), queryable.Limits{}))
}

// storedIn returns all samples of an embedded store that nobody has open.
func storedIn(t *testing.T, o adapter.Options) (all promtest.Samples) {
	t.Helper()
	if err := session.WriteLocal(t.Context(), o, func(_ context.Context, a *adapter.Adapter) error {
		all = samplesIn(t, a)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

func answerOfPrometheus(t *testing.T, dir string) promtest.Samples {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "wal"), 0o755); err != nil { // blocks alone have none
		t.Fatal(err)
	}
	db, err := tsdb.OpenDBReadOnly(dir, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	return promtest.SamplesOf(t, db)
}

// TestImportBlocks: after an import, by the command or by way of a running adapter, the store has what
// Prometheus answers from the directory, in all bits. The same again changes nothing.
func TestImportBlocks(t *testing.T) {
	dir := promtest.DataDir(t)
	want := answerOfPrometheus(t, dir)
	i := blocksOf(t, dir, func(i *ImportBlocksOptions) { i.State = filepath.Join(t.TempDir(), "state") })
	o := adaptertest.Options(t, write.Buffered)
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) })
	if code != 0 || !strings.Contains(out, fmt.Sprintf("%d samples imported", len(want))) {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, storedIn(t, o)); diff != "" {
		t.Error(diff)
	}
	if code, out = commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) }); code != 0 || !strings.Contains(out, fmt.Sprintf("; %d before", len(want))) {
		t.Errorf("%d: %s", code, out)
	}

	o = adaptertest.Options(t, write.Buffered)
	a, stop := adaptertest.Run(t, o)
	defer stop()
	i.State, i.URL = "", "http://"+a.Addr()
	if code, out = commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) }); code != 0 {
		t.Errorf("%d: %s", code, out)
	}
	if diff := cmp.Diff(want, samplesIn(t, a)); diff != "" {
		t.Error(diff)
	}
	told := servertest.Text(t, a, admin.TransfersPath)
	for _, part := range []string{`"kind":"import prometheus"`, `"state":"done"`, fmt.Sprintf(`"points":%d`, len(want))} {
		if !strings.Contains(told, part) {
			t.Errorf("the status of transfers lacks %s: %s", part, told)
		}
	}
}

// TestImportBlocksInterrupted ends imports in the middle, again and again. Together they bring everything,
// and count each sample once.
func TestImportBlocksInterrupted(t *testing.T) {
	dir := promtest.DataDir(t)
	want := answerOfPrometheus(t, dir)
	i := blocksOf(t, dir, func(i *ImportBlocksOptions) {
		i.State, i.Parallel, i.Patience = filepath.Join(t.TempDir(), "state"), 1, 0
	})
	o := adaptertest.Options(t, write.Buffered)
	err := session.WriteLocal(t.Context(), o, func(ctx context.Context, a *adapter.Adapter) error {
		store := a.Appendable().Store
		for most := 1; ; most++ {
			left := most
			var text strings.Builder
			err := i.run(ctx, command.Console{Out: &text, Err: &text}, columnsTarget{name: "there", store: func(ctx context.Context, b *columns.Batch) error {
				if left--; left < 0 {
					return errors.New("away")
				}
				return store(ctx, b)
			}})
			if err != nil && !strings.HasSuffix(err.Error(), "away") {
				t.Error(err)
			}
			if err == nil {
				if !strings.Contains(text.String(), " before") {
					t.Error(text.String())
				}
				break
			}
		}
		if diff := cmp.Diff(want, samplesIn(t, a)); diff != "" {
			t.Error(diff)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestImportBlocksDamaged: what is damaged is named, the rest comes, and the exit code tells.
func TestImportBlocksDamaged(t *testing.T) {
	dir := promtest.DataDir(t)
	metas, err := filepath.Glob(filepath.Join(dir, "*", "meta.json"))
	if err != nil || len(metas) == 0 {
		t.Fatal(metas, err)
	}
	if err := os.WriteFile(metas[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := adaptertest.Options(t, write.Buffered)
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, blocksOf(t, dir), c) })
	if code != command.ExitIncomplete || !strings.Contains(out, filepath.Base(filepath.Dir(metas[0]))+": meta.json: unexpected end") || !strings.Contains(out, "1 parts could not be read") {
		t.Errorf("%d: %s", code, out)
	}
	if n := len(storedIn(t, o)); n < 2000 {
		t.Errorf("%d samples", n)
	}
}

// TestImportBlocksRefused: series that the store does not take are named, and the exit code tells.
func TestImportBlocksRefused(t *testing.T) {
	o := adaptertest.Options(t, write.Buffered)
	o.Prometheus.Write.SeriesBytes = len(promtest.DataLabels(10).Bytes(nil)) - 1
	i := blocksOf(t, promtest.DataDir(t))
	code, out := commandtest.Code(t, func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) })
	if code != command.ExitIncomplete || !strings.Contains(out, "were refused") || !strings.Contains(out, `{__name__="m1", n="10"}: labels of more than`) {
		t.Errorf("%d: %s", code, out)
	}
}

func TestSeriesChoice(t *testing.T) {
	now := time.Now()
	for want, c := range map[string]SeriesChoice{
		"--match=a{: ": {Match: []string{"a{"}}, "--from=x: ": {From: "x"}, "it is before --from": {From: "2026-01-02T00:00:00Z", To: "1d-ago", Match: []string{"up"}},
		"want name=value": {Labels: []string{"a"}}, "given twice": {Labels: []string{"a=b", "a=c"}},
	} {
		if want == "it is before --from" {
			c.From = now.Format(time.RFC3339)
		}
		if err := c.Validate(now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func mustInt(t *testing.T, text string) (n int64) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatal(err)
	}
	return n
}
