package pipeline

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
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

// lineStore keeps lines; those that begin with "bad" are bad.
type lineStore struct {
	mu    sync.Mutex // guards what follows
	lines []string
	fail  func(block string) error // nil: none
}

func (l *lineStore) store(_ context.Context, block []byte, skip bool) (s Stored, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		if err := l.fail(string(block)); err != nil {
			clear(block) // it may be overwritten
			return s, err
		}
	}
	for line := range bytes.Lines(block) {
		if bytes.HasPrefix(line, []byte("bad")) {
			s.Refuse(s.Lines+1, bytes.TrimSpace(line), "not good")
			if !skip {
				return s, nil
			}
		} else {
			s.Points++
			l.lines = append(l.lines, strings.TrimSpace(string(line)))
		}
		s.Lines++
		s.Bytes += len(line)
	}
	return s, nil
}

// numbers returns lines from one number to another.
func numbers(from, to int) string {
	var b strings.Builder
	for n := from; n <= to; n++ {
		fmt.Fprintln(&b, n)
	}
	return b.String()
}

func zipped(t *testing.T, texts ...string) string {
	var b bytes.Buffer
	for _, text := range texts { // each is a member
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// files writes files and returns their names.
func files(t *testing.T, dir string, texts ...string) (names []string) {
	t.Helper()
	for n, text := range texts {
		name := filepath.Join(dir, fmt.Sprint("file", n))
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

func testOptions(l *lineStore, names ...string) ImportOptions {
	o := DefaultImportOptions()
	o.Files, o.Store, o.BlockBytes, o.Target = names, l.store, 64, "here"
	return o
}

// Every line of every file is stored once, in order, from plain files, compressed ones and the
// standard input.
func TestImport(t *testing.T) {
	l := &lineStore{}
	names := files(t, t.TempDir(), numbers(1, 100), zipped(t, numbers(101, 150), numbers(151, 200)), "", strings.TrimSpace(numbers(201, 300)))
	o := testOptions(l, append(names, Stdin)...)
	o.Stdin = strings.NewReader(zipped(t, numbers(301, 400)))
	p, err := Import(t.Context(), o)
	if err != nil || p.Points != 400 || p.Files != 5 || p.Done != 5 || p.Bad != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	for from := 1; from < 400; from += 100 {
		var got []string
		for _, line := range l.lines {
			if n := 0; len(line) > 0 {
				_, _ = fmt.Sscan(line, &n)
				if from <= n && n < from+100 {
					got = append(got, line)
				}
			}
		}
		if diff := cmp.Diff(numbers(from, from+99), strings.Join(got, "\n")+"\n"); diff != "" {
			t.Error(diff)
		}
	}
}

// A bad line ends the import, or is skipped; the state is just before it, or after.
func TestImportBadLine(t *testing.T) {
	dir := t.TempDir()
	names := files(t, dir, numbers(1, 30)+"bad one\n"+numbers(31, 60)+"bad two\n"+numbers(61, 90))
	l := &lineStore{}
	o := testOptions(l, names...)
	o.State = filepath.Join(dir, "state")
	var shown []string
	o.Bad = func(_ string, bad BadLine) { shown = append(shown, fmt.Sprint(bad.Line, bad.Text)) }
	_, err := Import(t.Context(), o)
	bad, ok := errors.AsType[*BadLineError](err)
	if !ok || bad.Error() != names[0]+`:31: not good: "bad one"` || len(shown) > 0 {
		t.Errorf("error %v, shown %q", err, shown)
	}
	if got := strings.Join(l.lines, "\n") + "\n"; got != numbers(1, 30) {
		t.Errorf("stored %q", got)
	}
	if _, err = Import(t.Context(), o); err == nil || len(l.lines) != 30 {
		t.Errorf("again: %v, %d lines", err, len(l.lines))
	}
	o.Skip = true
	p, err := Import(t.Context(), o)
	if err != nil || p.Points != 60 || p.Before != 30 || p.Bad != 2 {
		t.Errorf("%+v, %v", p, err)
	}
	if want := []string{"31bad one", "62bad two"}; !slices.Equal(shown, want) {
		t.Errorf("shown %q, want %q", shown, want)
	}
	if got := strings.Join(l.lines, "\n") + "\n"; got != numbers(1, 90) {
		t.Errorf("stored %q", got)
	}
	if p, err = Import(t.Context(), o); err != nil || p.Points != 0 || p.Before != 90 || len(l.lines) != 90 {
		t.Errorf("when all is done: %+v, %v", p, err)
	}
}

// An import that failed goes on where it was: what is durable is not read again, even if the file has
// grown since.
func TestImportGoesOn(t *testing.T) {
	for _, compressed := range []bool{false, true} {
		text := func(n int) string {
			if compressed {
				return zipped(t, numbers(1, 70), numbers(71, n))
			}
			return numbers(1, n)
		}
		dir := t.TempDir()
		l := &lineStore{fail: func(block string) error {
			if strings.Contains(block, "\n77\n") {
				return FinalError{errors.New("enough")}
			}
			return nil
		}}
		o := testOptions(l, files(t, dir, text(100))...)
		o.State = filepath.Join(dir, "state")
		if _, err := Import(t.Context(), o); err == nil || !strings.HasSuffix(err.Error(), "file0: enough") {
			t.Errorf("error %v", err)
		}
		first := len(l.lines)
		if first == 0 || first > 76 {
			t.Errorf("%d lines were stored", first)
		}
		l.fail = nil
		for _, n := range []int{100, 120} {
			files(t, dir, text(n))
			if _, err := Import(t.Context(), o); err != nil {
				t.Error(err)
			}
			if got := strings.Join(l.lines, "\n") + "\n"; got != numbers(1, n) {
				t.Errorf("stored %q", got)
			}
		}
		files(t, dir, strings.Replace(text(130), "1", "2", 1))
		if !compressed {
			if _, err := Import(t.Context(), o); !errors.Is(err, errOtherFile) {
				t.Errorf("another file: %v", err)
			}
		}
	}
}

// A store that fails is asked again, with the same block.
func TestImportWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failures, told := 0, 0
		l := &lineStore{fail: func(string) error {
			if failures++; failures%8 != 0 {
				return errors.New("away")
			}
			return nil
		}}
		o := testOptions(l, Stdin)
		o.Stdin, o.Failed = strings.NewReader(numbers(1, 40)), func(error) { told++ }
		p, err := Import(t.Context(), o)
		if err != nil || p.Points != 40 || told != 2 {
			t.Errorf("%+v, %v, told %d times", p, err, told)
		}
		if got := strings.Join(l.lines, "\n") + "\n"; got != numbers(1, 40) {
			t.Errorf("stored %q", got)
		}
		l.fail = func(string) error { return errors.New("away") }
		o.Stdin = strings.NewReader("1\n")
		begin := time.Now()
		if _, err = Import(t.Context(), o); err == nil || time.Since(begin) > o.Patience+lastPause || time.Since(begin) < o.Patience-lastPause {
			t.Errorf("%v after %v", err, time.Since(begin))
		}
	})
}

// stuck is an input from which nothing comes.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { select {} }

// An import that is interrupted ends although its input does not.
func TestImportInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l := &lineStore{fail: func(string) error { cancel(); return errors.New("away") }}
	o := testOptions(l, append(files(t, t.TempDir(), numbers(1, 1000)), Stdin)...)
	o.Stdin = &afterHead{stuck: stuck{}}
	if _, err := Import(ctx, o); err == nil {
		t.Error("no error")
	}
}

// afterHead is stuck after what the state knows a file by.
type afterHead struct {
	stuck
	n int
}

func (a *afterHead) Read(b []byte) (int, error) {
	if a.n < 2*headBytes {
		for i := range b[:min(headBytes, len(b))] {
			b[i] = "1\n"[i%2]
		}
		a.n += headBytes
		return min(headBytes, len(b)), nil
	}
	return a.stuck.Read(b)
}

func TestImportErrors(t *testing.T) {
	dir := t.TempDir()
	l := &lineStore{}
	names := files(t, dir, zipped(t, numbers(1, 1000))[:900], strings.Repeat("x", 1000), "\x1f\x8bnot so, as it is text", "{", `{"target":"there","files":[]}`, `{"target":"here","files":[{"bytes":-1}]}`)
	for _, c := range []struct {
		o    ImportOptions
		want string
	}{
		{testOptions(l, names[0]), ": unexpected EOF"},
		{testOptions(l, names[1]), "file1: after line 0: a line is too long: more than 64 bytes"},
		{testOptions(l, names[2]), "file2: gzip: invalid header"},
		{testOptions(l, dir), "is a directory"},
		{testOptions(l, dir+"/none"), "none: no such file or directory"},
		{testOptions(l, names[0], names[0]), "file0 is given twice"},
		{ImportOptions{State: names[3]}, "file3 is not the state of an import"},
		{ImportOptions{State: names[4], Target: "here"}, "file4 is the state of an import into there, not into here"},
		{ImportOptions{State: names[5], Target: "here"}, "file5 is not the state of an import"},
		{ImportOptions{State: dir + "/none/state"}, "state: open"},
	} {
		c.o.Now = time.Now
		if _, err := Import(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if len(l.lines) < 500 {
		t.Errorf("%d lines of the file that ends early are stored", len(l.lines))
	}
}

// The state of a file that has another text than before is refused, as is one that is shorter.
func TestImportOfShorterFile(t *testing.T) {
	dir := t.TempDir()
	l := &lineStore{}
	long := strings.Repeat("1\n", headBytes)
	o := testOptions(l, files(t, dir, long)...)
	o.BlockBytes, o.State = 1<<20, filepath.Join(dir, "state")
	if _, err := Import(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	files(t, dir, long[:headBytes+100])
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "it is another file") {
		t.Errorf("error %v", err)
	}
}

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		p    Progress
		want string
	}{
		{Progress{Files: 3, Took: time.Second}, "0 points, 0/s, 0 of 3 files"},
		{Progress{Files: 3, Done: 1, Points: 1000, Read: 250, Size: 1000, Took: 2 * time.Second, Bad: 7}, "1000 points, 500/s, 1 of 3 files, 25.0 %, 6s left, 7 bad lines"},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// What is cut into blocks is the text, in whole lines.
func FuzzCut(f *testing.F) {
	f.Add([]byte("a\nbb\n\nccc"), 4)
	f.Fuzz(func(t *testing.T, text []byte, size int) {
		size = min(max(size, 1), 1000)
		cut := cutter{text: bytes.NewReader(text)}
		var got []byte
		for {
			block, err := cut.next(make([]byte, 0, size))
			got = append(got, block...)
			if errors.Is(err, errLongLine) {
				if !bytes.HasPrefix(text, got) || bytes.IndexByte(text[len(got):min(len(got)+size, len(text))], '\n') >= 0 {
					t.Fatalf("%q in blocks of %d: a line is too long after %q", text, size, got)
				}
				return
			}
			if err != nil {
				break
			}
			if len(block) == 0 || len(block) > size || block[len(block)-1] != '\n' {
				t.Fatalf("%q in blocks of %d: %q", text, size, block)
			}
		}
		if !bytes.Equal(got, text) {
			t.Fatalf("%q in blocks of %d: %q", text, size, got)
		}
	})
}
