package vmnative

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/prometheus/jsonlines"
)

// readAll returns the samples of a file as text.
func readAll(t *testing.T, from io.Reader) (all map[string]string) {
	t.Helper()
	r, err := NewReader(from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all = map[string]string{}
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range b.Times {
			all[fmt.Sprintf("%s %d", b.Labels, at)] = fmt.Sprintf("%x", math.Float64bits(b.Values[i]))
		}
	}
}

// TestRecorded: what servers export in their own format is what they export as JSON, in all bits. testdata/record.sh records both:
//
//	sh record.sh victoria-metrics v1.150    (github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics@v1.150.0)
//	sh record.sh victoria-metrics v1.79     (Debian's package victoria-metrics)
func TestRecorded(t *testing.T) {
	names, err := filepath.Glob("testdata/*.native")
	if err != nil || len(names) != 2 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		native, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer native.Close()
		packed, err := os.Open(strings.TrimSuffix(name, "native") + "jsonl.gz")
		if err != nil {
			t.Fatal(err)
		}
		defer packed.Close()
		lines, err := gzip.NewReader(packed)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		text, err := io.ReadAll(lines)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			l, err := jsonlines.Parse(line)
			if err != nil {
				t.Fatal(err)
			}
			for i, at := range l.Times {
				want[fmt.Sprintf("%s %d", l.Labels, at)] = fmt.Sprintf("%x", math.Float64bits(l.Values[i]))
			}
		}
		if diff := cmp.Diff(want, readAll(t, native)); diff != "" || len(want) < 2000 {
			t.Errorf("%s: %d samples: %s", name, len(want), diff)
		}
	}
}

// recorded returns a recorded file.
func recorded(t testing.TB) []byte {
	t.Helper()
	text, err := os.ReadFile("testdata/v1.150.native")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestDamaged: a file that was cut off is an error, and a block that is damaged leaves the others.
func TestDamaged(t *testing.T) {
	text := recorded(t)
	whole := readAll(t, bytes.NewReader(text))
	for _, n := range []int{0, 15, 18, 22, len(text) / 2, len(text) - 1} {
		r, err := NewReader(bytes.NewReader(text[:n]))
		for err == nil {
			_, err = r.Next()
		}
		if errors.Is(err, io.EOF) && n > 16 {
			t.Errorf("%d bytes are taken for all", n)
		}
	}
	for at := 16; at < len(text); at += 7 { // any byte becomes another one
		broken := slices.Clone(text)
		broken[at] ^= 0x55
		r, err := NewReader(bytes.NewReader(broken))
		if err != nil {
			t.Fatal(err)
		}
		samples := map[string]bool{}
		for {
			b, err := r.Next()
			if _, bad := errors.AsType[*BadBlockError](err); bad {
				continue
			}
			if err != nil {
				break
			}
			for _, at := range b.Times {
				samples[fmt.Sprintf("%s %d", b.Labels, at)] = true
			}
		}
		r.Close()
		if len(samples) > 2*len(whole) {
			t.Fatalf("byte %d: %d samples", at, len(samples))
		}
	}
	bad := slices.Clone(text[:16])
	bad = append(bad, 0, 0, 0, 2, 'm', 1, 0, 0, 0, 1, 7) // a header that is too short
	bad = append(bad, text[16:]...)
	r, err := NewReader(bytes.NewReader(bad))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); err == nil || err.Error() != "block 1: it is too short" {
		t.Errorf("%v", err)
	}
	rest := map[string]bool{}
	for b, err := r.Next(); err == nil; b, err = r.Next() {
		for _, at := range b.Times {
			rest[fmt.Sprintf("%s %d", b.Labels, at)] = true
		}
	}
	if want := slices.Sorted(maps.Keys(whole)); !slices.Equal(slices.Sorted(maps.Keys(rest)), want) {
		t.Errorf("%d samples follow a bad block, want %d", len(rest), len(want))
	}
}

// FuzzNext: no bytes make it panic or take much memory, and times ascend.
func FuzzNext(f *testing.F) {
	f.Add(recorded(f))
	f.Add(recorded(f)[:300])
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := NewReader(bytes.NewReader(text))
		if err != nil {
			return
		}
		defer r.Close()
		for {
			b, err := r.Next()
			if _, bad := errors.AsType[*BadBlockError](err); bad {
				continue
			}
			if err != nil {
				return
			}
			if len(b.Times) > mostRows || len(b.Times) != len(b.Values) || !slices.IsSorted(b.Times) {
				t.Fatalf("%d times, %d values", len(b.Times), len(b.Values))
			}
		}
	})
}
