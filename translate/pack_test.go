package translate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Label sets that no row key and no UID name could hold, at the limits of the tables.
func TestPack(t *testing.T) {
	long := strings.Repeat("x", 40_000)
	longer := strings.Repeat("世_", 100_000)
	limit := storedLimits.length
	for _, tt := range []struct {
		name         string
		set          map[string]string
		tags, chunks int // tags that stand for one label each, and tags that hold packed ones
	}{
		{"as many tags as may be", manyLabels(1000), 1000, 0},
		{"one label more", manyLabels(1001), 1000, 1},
		{"many labels more", manyLabels(5000), 1000, 4},
		{"long value", map[string]string{nameLabel: "m", "a": "1", "b": long, "c": "3"}, 2, 2},
		{"long name", map[string]string{nameLabel: "m", "a": "1", long: "2", "y": "3"}, 2, 2},
		{"long metric", map[string]string{nameLabel: long, "a": "1"}, 1, 2},
		{"nothing but a long metric", map[string]string{nameLabel: long}, 0, 2},
		{"everything long", map[string]string{nameLabel: long, long: longer, longer: long}, 0, 73},
		{"value that just fits", map[string]string{"a": strings.Repeat("x", limit)}, 1, 0},
		{"value that just does not", map[string]string{"a": strings.Repeat("x", limit+1)}, 0, 2},
		{"escaped value that just fits", map[string]string{"a": strings.Repeat("::", limit/4-1) + "xx"}, 1, 0},
		{"escaped value that just does not", map[string]string{"a": strings.Repeat("::", limit/4)}, 0, 2},
		{"name that just fits", map[string]string{strings.Repeat("x", limit): "1"}, 1, 0},
		{"name that just does not", map[string]string{strings.Repeat("x", limit+1): "1"}, 0, 2},
		{"metric that just fits", map[string]string{nameLabel: strings.Repeat("x", limit), "a": "1"}, 1, 0},
		{"metric that just does not", map[string]string{nameLabel: strings.Repeat("x", limit+1), "a": "1"}, 1, 2},
		{"empty name", map[string]string{"": "x", "a": "1"}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkPacked(t, labels.FromMap(tt.set), tt.tags, tt.chunks)
		})
	}
}

func checkPacked(t *testing.T, ls labels.Labels, tags, chunks int) {
	t.Helper()
	tr := &Translator{limits: storedLimits}
	s := tr.FromLabels(ls)
	checkStorable(t, tr, s)
	gotChunks := 0
	for _, tag := range s.Tags {
		if _, ok := chunkIndex(tag.Key); ok {
			gotChunks++
		}
	}
	if len(s.Tags)-gotChunks != tags || gotChunks != chunks {
		t.Errorf("%d tags and %d packed ones, want %d and %d", len(s.Tags)-gotChunks, gotChunks, tags, chunks)
	}
	if len(s.Tags) > storage.MaxTags {
		t.Errorf("%d tags, a row key holds %d", len(s.Tags), storage.MaxTags)
	}
	if !labels.Equal(tr.ToLabels(s), ls) {
		t.Error("does not come back")
	}
	ls.Range(func(l labels.Label) {
		for _, kind := range []labels.MatchType{labels.MatchEqual, labels.MatchNotEqual} {
			m := labels.MustNewMatcher(kind, l.Name, l.Value)
			if kind == labels.MatchNotEqual {
				m.Value = "something else"
			}
			if !passesAll(tr.Filters([]*labels.Matcher{m}), s) {
				t.Errorf("a filter for %.40q hides it", l.Name)
			}
		}
	})
}

func manyLabels(n int) map[string]string {
	set := map[string]string{nameLabel: "m"}
	for i := range n {
		set[fmt.Sprintf("label_%d", i)] = "value:" + fmt.Sprint(i)
	}
	return set
}

// What follows from the order of the names must not follow from anything else.
func TestPackFirstNamesStay(t *testing.T) {
	tr := &Translator{limits: limits{tags: 2, length: 100}}
	s := tr.FromLabels(labels.FromStrings("-c", "3", "a", "1", "b", "2"))
	want := []storage.Tag{{Key: "--c", Value: "3"}, {Key: PackedKey, Value: "b_/2_/"}, {Key: "a", Value: "1"}}
	if !slices.Equal(s.Tags, want) {
		t.Errorf("tags %q, want %q", s.Tags, want)
	}
}

// A stream that claims a value longer than labels can be is not ours; it is shown as tags and
// causes no panic.
func TestPackForged(t *testing.T) {
	tr := &Translator{limits: storedLimits}
	stream := []byte("a_/" + strings.Repeat("x", maxLabelLength+1) + packSeparator)
	s := storage.Series{Metric: "m", Tags: tr.appendChunks(nil, stream)}
	slices.SortFunc(s.Tags, byKey)
	if ls := tr.ToLabels(s); ls.Len() != len(s.Tags)+1 {
		t.Errorf("%d labels, want %d", ls.Len(), len(s.Tags)+1)
	}
}

func FuzzPack(f *testing.F) {
	f.Add("a_/1_/", "b", "2")
	f.Add("_/_/", "_", "/")
	f.Add("__/_/_./_/", "a:b", "")
	f.Add("a_/1_", "", "_/")
	f.Fuzz(func(t *testing.T, stream, name, value string) {
		gotName, rest, ok := nextToken(string(appendPair(nil, name, value)) + stream)
		gotValue, rest, ok2 := nextToken(rest)
		if !ok || !ok2 || gotName != name || gotValue != value || rest != stream {
			t.Errorf("%q=%q before %q is read as %q=%q before %q", name, value, stream, gotName, gotValue, rest)
		}
		b := labels.NewScratchBuilder(0)
		if !addPairs(&b, stream) {
			return
		}
		var again []byte
		b.Labels().Range(func(l labels.Label) { again = appendPair(again, l.Name, l.Value) })
		if string(again) != stream {
			t.Errorf("%q is read as %v, which makes %q", stream, b.Labels(), again)
		}
	})
}
