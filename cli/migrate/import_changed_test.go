package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// TestChangedSince: a state is refused whose import read something that has changed since. Otherwise what has come in addition would be
// left out without a word.
func TestChangedSince(t *testing.T) {
	state := func() string { return filepath.Join(t.TempDir(), "state") }
	for name, prepare := range map[string]func(t *testing.T) (run func(c command.Console) error, change func()){
		"a text with more samples": func(t *testing.T) (func(command.Console) error, func()) {
			t.Helper()
			i, o := DefaultImportTextOptions(), adaptertest.Options(t, write.Buffered)
			i.Files, i.State = []string{textFile(t, "a 1 1600000000\n# EOF\n")}, state()
			return func(c command.Console) error { return ImportText(t.Context(), o, i, c) }, func() {
				if err := os.WriteFile(i.Files[0], []byte("a 1 1600000000\na 1 1600000001\n# EOF\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"a copy of a head that has gone on": func(t *testing.T) (func(command.Console) error, func()) {
			t.Helper()
			dir, o := promtest.DataDir(t), adaptertest.Options(t, write.Buffered)
			i := blocksOf(t, dir)
			i.State = state()
			return func(c command.Console) error { return ImportBlocks(t.Context(), o, i, c) }, func() {
				if err := os.WriteFile(filepath.Join(dir, "wal", "00000002"), make([]byte, 32<<10), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		},
		"the end of the last window": func(t *testing.T) (func(command.Console) error, func()) {
			t.Helper()
			from, _ := filled(t)
			a, stop := adaptertest.Run(t, from)
			t.Cleanup(stop)
			begin, o := time.UnixMilli(promtest.DataBegin), adaptertest.Options(t, write.Buffered)
			i := DefaultImportFetchOptions()
			i.Server, i.From, i.To, i.State = "http://"+a.Addr()+"/api/v1/read", begin.UTC().Format(time.RFC3339), "1h-ago", state()
			validate := func(now time.Time) {
				if err := i.Validate(now); err != nil {
					t.Fatal(err)
				}
			}
			validate(begin.Add(4 * time.Hour))
			return func(c command.Console) error { return ImportFetch(t.Context(), o, i, c) }, func() { validate(begin.Add(4*time.Hour + 30*time.Minute)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			run, change := prepare(t)
			var said strings.Builder
			for range 2 {
				if err := run(command.Console{Out: &said, Err: &said}); err != nil {
					t.Fatal(err, said.String())
				}
			}
			if !strings.Contains(said.String(), " before\n") {
				t.Errorf("%s: the second import has gone on with nothing", said.String())
			}
			change()
			if err := run(command.Console{Out: &said, Err: &said}); err == nil || !strings.Contains(err.Error(), "has changed since then") {
				t.Errorf("%v", err)
			}
		})
	}
}
