package migrate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/prometheus/jsonlines"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/vmnative"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// killedEnv has the import that a process carries out to be killed, in JSON.
const killedEnv = "TSDBRIDGE_TEST_IMPORT_TO_BE_KILLED"

// A killedImport is an import of one kind.
type killedImport struct {
	Kind  string // blocks, text, native or lines
	Path  string // of the store
	State string
	From  []string // files, or a directory
}

// run imports. Each batch is told before it is stored.
func (k killedImport) run(t *testing.T, told func()) (code int, out string) {
	o := adaptertest.Options(t, write.Buffered)
	o.Path = k.Path
	return commandtest.Code(t, func(c command.Console) error {
		return session.WriteLocal(t.Context(), o, func(ctx context.Context, a *adapter.Adapter) error {
			store := a.Appendable().Store
			target := columnsTarget{"there", func(ctx context.Context, b *columns.Batch) error {
				told()
				return store(ctx, b)
			}, a.Samples()}
			switch k.Kind {
			case "blocks":
				i := blocksOf(t, k.From[0], func(i *ImportBlocksOptions) { i.State, i.Verify, i.Parallel = k.State, VerifyAll, 1 })
				return i.run(ctx, c, target)
			case "text", nativeFormat:
				i := DefaultImportTextOptions()
				if k.Kind == nativeFormat {
					i = DefaultImportNativeOptions()
				}
				i.State, i.Files, i.Verify, i.Parallel = k.State, k.From, VerifyAll, 1
				return i.run(ctx, c, target)
			}
			i := DefaultImportOptions()
			i.State, i.Files, i.block, i.Parallel = k.State, k.From, 64<<10, 1
			_, err := i.run(ctx, c, linesStore(target.store), "there")
			return err
		})
	})
}

// TestImportToBeKilled is the process that is killed.
func TestImportToBeKilled(t *testing.T) {
	text := os.Getenv(killedEnv)
	if text == "" {
		t.Skip("it is for TestImportKilled")
	}
	var k killedImport
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		t.Fatal(err)
	}
	code, out := k.run(t, func() {
		fmt.Println("batch")
		time.Sleep(20 * time.Millisecond) // for those who watch: the import shall not be over at once
	})
	if code != 0 {
		t.Error(code, out)
	}
}

// killed runs an import in a process that is killed when it stores its nth batch, and reports whether it was.
func (k killedImport) killed(t *testing.T, nth int) bool {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	p := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestImportToBeKilled$")
	p.Env = append(os.Environ(), killedEnv+"="+string(text))
	stdout, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.Stderr = os.Stderr
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(io.TeeReader(stdout, &said)); nth > 0 && lines.Scan(); {
		if lines.Text() == "batch" {
			nth--
		}
	}
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // any moment of a batch
	_ = p.Process.Kill()                                        // it may have ended
	err = p.Wait()
	if err != nil && p.ProcessState.Exited() {
		t.Fatalf("%v: %s", err, &said)
	}
	return err != nil
}

// exemplarsIn returns the exemplars of a store, as text.
func exemplarsIn(t *testing.T, o adapter.Options) (all []string) {
	t.Helper()
	if err := session.WriteLocal(t.Context(), o, func(ctx context.Context, a *adapter.Adapter) error {
		q, err := queryable.New(a.Store(), a.Names(), queryable.Limits{}).ExemplarQuerier(ctx)
		if err != nil {
			return err
		}
		found, err := q.Select(0, storage.MaxTime, []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "__name__", ".+")})
		for _, s := range found {
			for _, e := range s.Exemplars {
				all = append(all, fmt.Sprintf("%s %s %v %d", s.SeriesLabels, e.Labels, e.Value, e.Ts))
			}
		}
		slices.Sort(all)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return all
}

// A killedCase is what an import that is killed has to bring.
type killedCase struct {
	from      []string
	want      promtest.Samples
	exemplars []string
}

// killedBlocks is a data directory with many blocks.
func killedBlocks(t *testing.T) killedCase {
	dir := promtest.DataDir(t)
	promtest.AddBlocks(t, dir, promtest.DataBegin+10*promtest.DataHour, 20)
	one := fmt.Sprintf(`%s {trace="x"} 5 %d`, promtest.DataLabels(7), promtest.DataBegin+8*promtest.DataHour)
	return killedCase{[]string{dir}, answerOfPrometheus(t, dir), []string{one}}
}

// killedFiles is files; write writes what one has of a series and notes it.
func killedFiles(t *testing.T, end string, write func(c *killedCase, to *strings.Builder, ls labels.Labels, n int)) killedCase {
	c := killedCase{want: promtest.Samples{}}
	for n := range 20 {
		var text strings.Builder
		for s := range 50 {
			write(&c, &text, labels.FromStrings("__name__", "m", "n", fmt.Sprint(n), "s", fmt.Sprint(s)), s)
		}
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, []byte(text.String()+end), 0o600); err != nil {
			t.Fatal(err)
		}
		c.from = append(c.from, name)
	}
	slices.Sort(c.exemplars)
	return c
}

func (c *killedCase) add(ls labels.Labels, at int64, v float64) {
	c.want.Add(ls, at, fmt.Sprintf("%x", math.Float64bits(v)))
}

func killedText(t *testing.T) killedCase {
	return killedFiles(t, "# EOF\n", func(c *killedCase, to *strings.Builder, ls labels.Labels, n int) {
		at := int64(1_600_000_000 + n)
		fmt.Fprintf(to, "m{n=%q,s=%q} %d %d # {trace=\"t%d\"} 0.5 %d\n", ls.Get("n"), ls.Get("s"), n, at, n, at)
		c.add(ls, at*1000, float64(n))
		c.exemplars = append(c.exemplars, fmt.Sprintf(`%s {trace="t%d"} 0.5 %d`, ls, n, at*1000))
	})
}

func killedLines(t *testing.T) killedCase {
	return killedFiles(t, "", func(c *killedCase, to *strings.Builder, ls labels.Labels, n int) {
		for at := int64(1_600_000_000_000); at < 1_600_000_020_000; at += 1000 {
			to.Write(jsonlines.Append(nil, ls, []int64{at, at + 1}, []float64{float64(n), 2.5}))
			c.add(ls, at, float64(n))
			c.add(ls, at+1, 2.5)
		}
	})
}

// killedNative is a recorded export many times, each with other names of the same length.
func killedNative(t *testing.T) killedCase {
	recorded, err := os.ReadFile("../../prometheus/vmnative/testdata/v1.150.native")
	if err != nil {
		t.Fatal(err)
	}
	c := killedCase{want: promtest.Samples{}}
	for letter := 'a'; letter < 'a'+20; letter++ {
		file := recorded
		for _, name := range []string{"one", "zeros", "special", "names", "large", "many"} {
			file = bytes.ReplaceAll(file, []byte(name), []byte(name[:len(name)-1]+string(letter)))
		}
		name := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(name, file, 0o600); err != nil {
			t.Fatal(err)
		}
		c.from = append(c.from, name)
		c.addNative(t, file)
	}
	return c
}

// addNative notes what an export has.
func (c *killedCase) addNative(t *testing.T, file []byte) {
	t.Helper()
	r, err := vmnative.NewReader(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		for n, at := range b.Times {
			c.add(b.Labels, at, b.Values[n])
		}
	}
}

// TestImportKilled: an import that is killed at any moments, and goes on, ends with exactly what it imports: nothing is lost, and nothing is
// there or counted twice.
func TestImportKilled(t *testing.T) {
	for kind, prepare := range map[string]func(*testing.T) killedCase{"blocks": killedBlocks, "text": killedText, nativeFormat: killedNative, "lines": killedLines} {
		t.Run(kind, func(t *testing.T) {
			c := prepare(t)
			k := killedImport{kind, filepath.Join(t.TempDir(), "store"), filepath.Join(t.TempDir(), "state"), c.from}
			kills := 0
			for _, nth := range []int{12 + rand.IntN(7), 1 + rand.IntN(6), 1 + rand.IntN(6)} {
				if k.killed(t, nth) {
					kills++
				}
			}
			code, out := k.run(t, func() {})
			var points, before int
			if _, text, ok := strings.Cut(strings.SplitN(out, "\n", 2)[0], "; "); ok {
				_, _ = fmt.Sscanf(text, "%d before", &before)
			}
			if _, err := fmt.Sscanf(out, "%d ", &points); err != nil || code != 0 || points+before != len(c.want) || before == 0 || kills == 0 {
				t.Errorf("exit code %d after %d kills, %d and %d samples of %d: %s", code, kills, points, before, len(c.want), out)
			}
			o := adaptertest.Options(t, write.Buffered)
			o.Path = k.Path
			if diff := cmp.Diff(c.want, storedIn(t, o)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.exemplars, exemplarsIn(t, o)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
