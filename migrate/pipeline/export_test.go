package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// rangeSource has a line for each name and time; it fails when fail returns an error.
type rangeSource struct {
	names, times int
	mu           sync.Mutex // guards fail
	fail         func() error
}

func (s *rangeSource) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail == nil {
		return nil
	}
	return s.fail()
}

func (s *rangeSource) Ranges(_ context.Context, after Range) (ranges []Range, err error) {
	name := 0
	if _, err := fmt.Sscanf(after.Name, "m%03d", &name); err == nil {
		name++
	}
	for ; name < s.names && len(ranges) < 3; name++ {
		ranges = append(ranges, Range{Name: fmt.Sprintf("m%03d", name), From: 1, To: int64(s.times)})
	}
	return ranges, s.check()
}

func (s *rangeSource) Read(_ context.Context, r Range, give func(Block) error) error {
	for t := r.From; t <= r.To; t++ {
		if err := s.check(); err != nil {
			return err
		}
		b := Block{Text: fmt.Appendf(nil, "%s %d %s\n", r.Name, t, strings.Repeat("x", int(t)%50)), Points: 1}
		if t%7 == 0 || t == r.To {
			b.Until = t + 1
		}
		if t%11 == 0 {
			b.LeftOut, b.Reason = 1, "eleven"
		}
		if err := give(b); err != nil {
			return err
		}
	}
	return nil
}

// lines are all lines, sorted.
func (s *rangeSource) lines() (lines []string) {
	for name := range s.names {
		for t := 1; t <= s.times; t++ {
			lines = append(lines, fmt.Sprintf("m%03d %d %s", name, t, strings.Repeat("x", t%50)))
		}
	}
	slices.Sort(lines)
	return lines
}

// exportedLines are the lines of files, sorted.
func exportedLines(t *testing.T, names ...string) (lines []string) {
	t.Helper()
	for _, name := range names {
		s, err := open(name, nil)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(s.text)
		if err := errors.Join(err, s.close()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines = append(lines, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")...)
	}
	slices.Sort(lines)
	return lines
}

func exportOptions(s Source, names ...string) ExportOptions {
	return ExportOptions{
		Source: func(int64, int64) (Source, error) { return s, nil }, Named: "all", End: 1000, Files: names, Now: time.Now,
		Gzip: len(names) > 0 && strings.HasSuffix(names[0], ".gz"),
	}
}

// All lines are in the files, each once, whole and in files that have their names.
func TestExport(t *testing.T) {
	for _, suffix := range []string{"", ".gz"} {
		s := &rangeSource{names: 20, times: 30}
		dir := t.TempDir()
		var names []string
		for n := range 3 {
			names = append(names, filepath.Join(dir, fmt.Sprint(n, suffix)))
		}
		o := exportOptions(s, names...)
		p, err := Export(t.Context(), o)
		if err != nil || p.Points != 600 || p.LeftOut != 40 || p.Reason != "eleven" {
			t.Errorf("%+v, %v", p, err)
		}
		if diff := cmp.Diff(s.lines(), exportedLines(t, names...)); diff != "" {
			t.Error(diff)
		}
		if _, err = Export(t.Context(), o); !errors.Is(err, os.ErrExist) {
			t.Errorf("over files that are there: %v", err)
		}
	}
}

// A stream has all lines too, but one that has begun cannot be gone on with.
func TestExportStream(t *testing.T) {
	s := &rangeSource{names: 20, times: 30}
	var out bytes.Buffer
	o := exportOptions(s)
	o.Stdout = &out
	if p, err := Export(t.Context(), o); err != nil || p.Points != 600 {
		t.Errorf("%+v, %v", p, err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if slices.Sort(lines); !slices.Equal(lines, s.lines()) {
		t.Errorf("%d lines", len(lines))
	}
	n := 0
	s.fail = func() error {
		if n++; n == 100 {
			return errors.New("away")
		}
		return nil
	}
	o.Patience = time.Hour
	if _, err := Export(t.Context(), o); err == nil {
		t.Error("no error")
	}
}

// An export that ends anywhere, and whose files have more than its state knows of, perhaps torn lines,
// goes on without loss and without repetition.
func TestExportGoesOn(t *testing.T) {
	for seed := range uint64(16) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &rangeSource{names: 40, times: 60}
		dir := t.TempDir()
		suffix := []string{"", ".gz"}[seed%2]
		var names []string
		for n := range 1 + r.IntN(4) {
			names = append(names, filepath.Join(dir, fmt.Sprint(n, suffix)))
		}
		o := exportOptions(s, names...)
		o.State = filepath.Join(dir, "state")
		ended := errors.New("killed")
		for try := 0; ; try++ {
			left := 10 + r.IntN(1500)
			s.fail = func() error {
				if left--; left < 0 && try < 20 {
					return FinalError{ended}
				}
				return nil
			}
			clock := time.Now()
			o.Now = func() time.Time { // so time passes in which files are kept
				s.mu.Lock()
				defer s.mu.Unlock()
				clock = clock.Add(10 * time.Millisecond)
				return clock
			}
			_, err := Export(t.Context(), o)
			if err == nil {
				break
			}
			if !errors.Is(err, ended) {
				t.Fatal(err)
			}
			for _, name := range names {
				tear(t, r, name+partSuffix)
			}
		}
		if diff := cmp.Diff(s.lines(), exportedLines(t, names...)); diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		p, err := Export(t.Context(), o)
		if err != nil || p.Points != 0 || p.Before != 2400 {
			t.Errorf("when all is done: %+v, %v", p, err)
		}
	}
}

// tear adds to a file, if it is there, what a kill may leave.
func tear(t *testing.T, r *rand.Rand, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil && r.IntN(2) == 0 {
		_, err = f.WriteString("m001 1 xx\nm00")
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A source that fails is asked again, from what is kept on.
func TestExportWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &rangeSource{names: 10, times: 30}
		n := 0
		s.fail = func() error {
			if n++; n%97 == 0 {
				return errors.New("away")
			}
			return nil
		}
		name := filepath.Join(t.TempDir(), "all")
		o := exportOptions(s, name)
		o.Patience = time.Hour
		p, err := Export(t.Context(), o)
		if err != nil || p.Points != 300 || p.LeftOut != 20 {
			t.Errorf("%+v, %v", p, err)
		}
		if diff := cmp.Diff(s.lines(), exportedLines(t, name)); diff != "" {
			t.Error(diff)
		}
	})
}

// A source that always fails behind the same block ends the export when patience does.
func TestExportPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &rangeSource{names: 1, times: 30}
		n := 0
		s.fail = func() error {
			if n++; n > 20 {
				return errors.New("away")
			}
			return nil
		}
		o := exportOptions(s, filepath.Join(t.TempDir(), "all"))
		o.Patience = time.Minute
		begin := time.Now()
		if _, err := Export(t.Context(), o); err == nil || err.Error() != "away" || time.Since(begin) > o.Patience+lastPause {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

func TestExportErrors(t *testing.T) {
	dir := t.TempDir()
	s := &rangeSource{names: 1, times: 3}
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	short := filepath.Join(dir, "short")
	write("short"+partSuffix, "m")
	for _, c := range []struct{ state, want string }{
		{"{", "is not the state of an export"},
		{`{"source":"some"}`, "is the state of an export of some, not of all"},
		{`{"source":"all","files":[{"name":"x","bytes":-1}]}`, "is not the state of an export"},
		{`{"source":"all","files":[{"name":"` + short + `","bytes":5}]}`, "has 1 bytes where 5 were written: it is another file"},
		{`{"source":"all","files":[{"name":"` + dir + `/none","bytes":5}]}`, "no such file"},
	} {
		o := exportOptions(s, filepath.Join(dir, "out"))
		o.State = write("state", c.state)
		if _, err := Export(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.state, err, c.want)
		}
	}
}
