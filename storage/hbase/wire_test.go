package hbase

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

func TestCell(t *testing.T) {
	got := appendCell(nil, []byte("row"), "t", []byte{0x0a, 0x0b}, []byte("v"), 0, typePut)
	const want = "0000001b" + "00000012" + "00000001" + // all, key, value
		"0003" + "726f77" + "01" + "74" + "0a0b" + "7fffffffffffffff" + "04" + "76"
	if hex.EncodeToString(got) != want {
		t.Errorf("appendCell = %x, want %s", got, want)
	}
	stamped := appendCell(nil, []byte("row"), "t", []byte{0x0a, 0x0b}, nil, 0x0102, typeDeleteColumn)
	if want := "0000001a" + "00000012" + "00000000" + "0003" + "726f77" + "01" + "74" + "0a0b" + "0000000000000102" + "0c"; hex.EncodeToString(stamped) != want {
		t.Errorf("appendCell with a stamp = %x, want %s", stamped, want)
	}
	if n := cellSize([]byte("row"), "t", []byte{0x0a, 0x0b}, []byte("v")); n != len(got) {
		t.Errorf("cellSize = %d, want %d", n, len(got))
	}
}

// FuzzParseCell: no panic, and what parses is written again as it was, except the family.
func FuzzParseCell(f *testing.F) {
	f.Add([]byte{})
	f.Add(appendCell(nil, []byte("row"), "t", []byte("q"), []byte("value"), 1, typePut))
	f.Add(appendCell(nil, []byte("r"), "", nil, nil, 0, typeDeleteFamily))
	f.Add([]byte{0, 0, 0, 9, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, rest, err := parseCell(b)
		if err != nil {
			if !errors.Is(err, errBadCell) {
				t.Errorf("error of another kind: %v", err)
			}
			return
		}
		family := int(b[12+2+len(c.row)])
		size := cellSize(c.row, strings.Repeat("f", family), c.qualifier, c.value)
		if size != len(b)-len(rest) {
			t.Fatalf("%d bytes parsed, its parts need %d", len(b)-len(rest), size)
		}
		again := appendCell(nil, c.row, string(b[12+2+len(c.row)+1:][:family]), c.qualifier, c.value, c.time, c.kind)
		d, _, err := parseCell(again)
		if err != nil || !bytes.Equal(d.row, c.row) || !bytes.Equal(d.qualifier, c.qualifier) || !bytes.Equal(d.value, c.value) ||
			d.kind != c.kind || d.time != c.time && c.time != 0 {
			t.Errorf("parseCell(appendCell(%+v)) = %+v, %v", c, d, err)
		}
	})
}

// FuzzHistory: no panic; of the cells of a raw answer every put is returned or hidden, once, and
// every deletion is returned, and nothing else.
func FuzzHistory(f *testing.F) {
	f.Add(string([]byte{typeDeleteFamily, typePut, typeDeleteColumn, typePut}), uint64(1))
	f.Add(string([]byte{typePut, typePut, typeDelete, typeDeleteFamilyVersion, 255, 0}), uint64(9))
	f.Fuzz(func(t *testing.T, kinds string, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var cells []cell
		puts, deletes := 0, 0
		for _, kind := range []byte(kinds) {
			cells = append(cells, cell{row: []byte("row"), qualifier: make([]byte, rnd.IntN(3)), value: []byte{'v'}, time: rnd.Int64N(4), kind: kind})
			switch kind {
			case typePut:
				puts++
			case typeDelete, typeDeleteColumn, typeDeleteFamily, typeDeleteFamilyVersion:
				deletes++
			}
		}
		slices.SortFunc(cells, func(a, b cell) int {
			return stdcmp.Or(bytes.Compare(a.qualifier, b.qualifier), stdcmp.Compare(b.time, a.time), stdcmp.Compare(b.kind, a.kind))
		})
		h := copyHistory([]byte("row"), cells)
		if len(h.Cells)+len(h.Hidden) != puts || len(h.Deletes) != deletes {
			t.Fatalf("%x: %d cells, %d hidden, %d deletions", kinds, len(h.Cells), len(h.Hidden), len(h.Deletes))
		}
		for i := range h.Cells {
			for _, d := range h.Deletes {
				if d.Hides(&h.Cells[i]) {
					t.Fatalf("%x: %+v is read and hidden by %+v", kinds, h.Cells[i], d)
				}
			}
			if i > 0 && bytes.Compare(h.Cells[i-1].Qualifier, h.Cells[i].Qualifier) >= 0 {
				t.Fatalf("%x: cells %+v", kinds, h.Cells)
			}
		}
	})
}

func TestCopyCellsOwnsItsMemory(t *testing.T) {
	block := []byte("qualifiervalue")
	got := copyCells([]cell{{qualifier: block[:9], value: block[9:]}, {qualifier: block[:1]}})
	clear(block)
	_ = append(got[0].Qualifier, '!')
	if string(got[0].Qualifier) != "qualifier" || string(got[0].Value) != "value" || string(got[1].Qualifier) != "q" {
		t.Errorf("copyCells = %v", got)
	}
}

// decodeRequest reads a request with protobuf's own code.
func decodeRequest(t *testing.T, msg proto.Message) *pb.MultiRequest {
	t.Helper()
	raw, err := proto.Marshal(msg)
	if err != nil {
		t.Fatal(err)
	}
	request := &pb.MultiRequest{}
	if err := proto.Unmarshal(raw, request); err != nil {
		t.Fatal(err)
	}
	if len(request.ProtoReflect().GetUnknown()) > 0 {
		t.Errorf("the request has unknown fields: %v", request)
	}
	return request
}

// TestMultiGroups shows which rows a request changes together.
func TestMultiGroups(t *testing.T) {
	put := kv.Put{Qualifier: []byte("p"), Value: []byte("v")}
	mutations := []kv.Mutation{
		{Key: []byte("a"), Puts: []kv.Put{put}},
		{Key: []byte("b"), Puts: []kv.Put{put}, Deletes: []kv.Delete{{Qualifier: []byte{'d'}}}},
		{Key: []byte("c"), Deletes: []kv.Delete{{Qualifier: []byte{'d'}}}},
		{Key: []byte("d"), DeleteRow: true},
	}
	m := newMulti(t.Context(), []byte("tsdb"), encodeMutations("t", mutations, []int{0, 1, 2, 3}), newGate(1))
	m.SetRegion(region.NewInfo(1, nil, []byte("tsdb"), []byte("tsdb,,1."), nil, nil))
	msg, blocks, size := m.SerializeCellBlocks(nil)
	request := decodeRequest(t, msg)
	var got []string
	for _, g := range request.GetRegionAction() {
		line := fmt.Sprintf("atomic=%t", g.GetAtomic())
		for _, a := range g.GetAction() {
			line += fmt.Sprintf(" %s:%s:%d", a.GetMutation().GetRow(), a.GetMutation().GetMutateType(), a.GetMutation().GetAssociatedCellCount())
		}
		got = append(got, line)
	}
	want := []string{"atomic=false a:PUT:1 c:DELETE:1 d:DELETE:1", "atomic=true b:PUT:1 b:DELETE:1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	// The server takes the cells in the order of the actions.
	if all := bytes.Join(blocks, nil); len(all) != int(size) {
		t.Errorf("%d bytes of cells, announced %d", len(all), size)
	} else if cells, _, err := parseRows(all); err != nil || cells != "a c d b b" {
		t.Errorf("cells of rows %q, %v, want a c d b b", cells, err)
	}
}

func parseRows(b []byte) (rows string, n int, err error) {
	var keys []string
	for len(b) > 0 {
		var c cell
		if c, b, err = parseCell(b); err != nil {
			return "", 0, err
		}
		keys = append(keys, string(c.row))
	}
	return strings.Join(keys, " "), len(keys), nil
}

// TestFilterPassesAllMatches compares the filters sent to the servers with Match: every key that
// satisfies Match must pass. Keys have few different bytes, among them those with a meaning in a
// regexp.
func TestFilterPassesAllMatches(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabet := []byte{0x00, 0x0a, 0x0d, 0x5c, 0x45, 0x51, 0x2e, 0x7f, 0x80, 0x85, 0xff}
	some := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = alphabet[rnd.IntN(len(alphabet))]
		}
		return b
	}
	sorted := func(n, width int) [][]byte {
		var out [][]byte
		for range n {
			out = append(out, some(width))
		}
		slices.SortFunc(out, bytes.Compare)
		return slices.CompactFunc(out, bytes.Equal)
	}
	matched := 0
	for range 400 {
		m := &kv.Match{Prefix: rnd.IntN(9), Key: 1, Value: 1}
		for _, k := range sorted(1+rnd.IntN(2), m.Key) {
			tag := kv.Tag{Key: k}
			if rnd.IntN(2) == 0 {
				tag.Values = sorted(1+rnd.IntN(8), m.Value)
			}
			m.Tags = append(m.Tags, tag)
		}
		if rnd.IntN(2) == 0 {
			m.Suffixes = sorted(1+rnd.IntN(20), 2)
		}
		pattern := regexp.MustCompile(rowPattern(m))
		fuzzy := fuzzyFilter(m)
		for range 200 {
			key := some(m.Prefix + rnd.IntN(8))
			if m.Suffixes != nil && rnd.IntN(2) == 0 && len(key) >= m.Prefix {
				key = append(key[:m.Prefix], m.Suffixes[rnd.IntN(len(m.Suffixes))]...)
			}
			tagsOnly := *m
			tagsOnly.Suffixes = nil
			byRegexp := pattern.MatchString(latin1(key))
			if tagsOnly.Matches(key) && !byRegexp {
				t.Fatalf("%s does not pass %x, which matches %+v", pattern, key, m)
			}
			if m.Matches(key) {
				matched++
				if fuzzy != nil && !fuzzyPasses(t, fuzzy, key) {
					t.Fatalf("the fuzzy filter does not pass %x, which matches %+v", key, m)
				}
			}
		}
	}
	if matched < 100 {
		t.Errorf("only %d keys matched: the test shows nothing", matched)
	}
}

// latin1 returns a key as a region server reads it: a character for each byte.
func latin1(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

// fuzzyPasses does what FuzzyRowFilter does, with the masks of its first version.
func fuzzyPasses(t *testing.T, f filter.Filter, key []byte) bool {
	t.Helper()
	wrapped, err := f.ConstructPBFilter()
	if err != nil {
		t.Fatal(err)
	}
	var fuzzy pb.FuzzyRowFilter
	if err := proto.Unmarshal(wrapped.GetSerializedFilter(), &fuzzy); err != nil {
		t.Fatal(err)
	}
	for _, pair := range fuzzy.GetFuzzyKeysData() {
		want, mask := pair.GetFirst(), pair.GetSecond()
		if bytes.IndexByte(mask, 1) < 0 {
			t.Fatalf("a mask without any wildcard: HBase would pass everything")
		}
		ok := true
		for i := range min(len(want), len(key)) {
			ok = ok && (mask[i] == 1 || want[i] == key[i])
		}
		if ok {
			return true
		}
	}
	return false
}

func TestRowPattern(t *testing.T) {
	many := make([][]byte, maxRegexpValues+1)
	for _, test := range []struct {
		match kv.Match
		want  string
	}{
		{kv.Match{Prefix: 7, Key: 3, Value: 3}, ""},
		{
			kv.Match{Prefix: 8, Key: 1, Value: 2, Tags: []kv.Tag{{Key: []byte{0xff}}, {Key: []byte{'\\'}, Values: [][]byte{{0, 1}, {'E', 0x80}}}}},
			`(?s)^.{8}(?:.{3})*\xFF.{2}(?:.{3})*\x5C(?:\x00\x01|\x45\x80)(?:.{3})*\z`,
		},
		{kv.Match{Key: 1, Value: 2, Tags: []kv.Tag{{Key: []byte{1}, Values: many}}}, `(?s)^.{0}(?:.{3})*\x01.{2}(?:.{3})*\z`},
	} {
		if got := rowPattern(&test.match); got != test.want {
			t.Errorf("rowPattern = %s, want %s", got, test.want)
		}
	}
}

func TestFuzzyFilterIsLeftOut(t *testing.T) {
	suffix := [][]byte{{1, 2}}
	for name, m := range map[string]*kv.Match{
		"no wildcard in the mask": {Prefix: 0, Key: 1, Value: 1, Suffixes: suffix},
		"no suffixes":             {Prefix: 3, Key: 1, Value: 1},
		"too many":                {Prefix: 3, Key: 1, Value: 1, Suffixes: make([][]byte, maxFuzzyKeys+1)},
	} {
		if f := fuzzyFilter(m); f != nil {
			t.Errorf("%s: a filter", name)
		}
	}
}

func TestBounds(t *testing.T) {
	long := bytes.Repeat([]byte{'a'}, kv.MaxKeyLength)
	top := bytes.Repeat([]byte{0xff}, kv.MaxKeyLength)
	behindLong := append(bytes.Clone(long[:kv.MaxKeyLength-1]), 'b')
	for _, test := range []struct {
		name      string
		got, want []byte
	}{
		{"following a", following([]byte("a")), []byte("a\x00")},
		{"following the longest", following(long), behindLong},
		{"following the greatest", following(top), nil},
		{"clip a", clip([]byte("a")), []byte("a")},
		{"clip too long", clip(append(bytes.Clone(long), 0)), behindLong},
		{"clip after all", clip(append(bytes.Clone(top), 0)), nil},
	} {
		if !bytes.Equal(test.got, test.want) {
			t.Errorf("%s has %d bytes, want %d: %.20x", test.name, len(test.got), len(test.want), test.got)
		}
	}
}

func TestException(t *testing.T) {
	for _, test := range []struct {
		text, class, message string
		want                 verdict
	}{
		{
			"HBase Java exception org.apache.hadoop.hbase.CallDroppedException:\norg.apache.hadoop.hbase.CallDroppedException: queue\n\tat x",
			"CallDroppedException", "queue", again,
		},
		{"HBase Java exception org.apache.hadoop.hbase.NotServingRegionException:\n", "NotServingRegionException", "", moved},
		{"HBase Java exception java.io.IOException:\njava.io.IOException: disk", "IOException", "disk", again},
		{"x: HBase Java exception org.apache.hadoop.hbase.DoNotRetryIOException:\nno", "DoNotRetryIOException", "no", giveUp},
	} {
		x, ok := exceptionIn(errors.New(test.text))
		if !ok || x.class != test.class || x.message != test.message || x.classify() != test.want {
			t.Errorf("exceptionIn(%q) = %+v, %t, class %d, want %d", test.text, x, ok, x.classify(), test.want)
		}
	}
	if x, ok := exceptionIn(context.Canceled); ok {
		t.Errorf("an exception in a cancellation: %v", x)
	}
}

func TestValidate(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{}, "--hbase.zookeeper"},
		{Options{ZooKeeper: ", "}, "--hbase.zookeeper"},
		{Options{ZooKeeper: "a:1", Root: "hbase"}, "--hbase.root"},
		{Options{ZooKeeper: "a:1", Timeout: -1}, "--hbase.timeout"},
	} {
		if _, err := New(test.o); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("New(%+v): %v, want %s", test.o, err, test.want)
		}
	}
}

// TestKeysFilter compares the filter with what protobuf's own code would send.
func TestKeysFilter(t *testing.T) {
	keys := [][]byte{{0}, {1}, {1}, bytes.Repeat([]byte{2}, 60), bytes.Repeat([]byte{2}, 130), bytes.Repeat([]byte{3}, 20_000)}
	var ranges []*filter.RowRange
	var actions []action
	for i, key := range keys {
		actions = append(actions, action{key: key})
		if i == 0 || !bytes.Equal(key, keys[i-1]) {
			ranges = append(ranges, filter.NewRowRange(key, key, true, true))
		}
	}
	want, err := filter.NewMultiRowRangeFilter(ranges).ConstructPBFilter()
	if err != nil {
		t.Fatal(err)
	}
	if got := keysFilter(actions); !proto.Equal(want, got) {
		t.Errorf("filter of keys (-want +got):\n%s", cmp.Diff(want, got, protocmp.Transform()))
	}
}
