package hbase

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tsuna/gohbase/pb"
	"github.com/tsuna/gohbase/region"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// testMulti makes a request of actions for a region that holds all of them.
func testMulti(ctx context.Context, actions []action) *multi {
	m := newMulti(ctx, []byte("tsdb"), actions, newGate(1))
	m.SetRegion(region.NewInfo(1, nil, []byte("tsdb"), []byte("tsdb,,1."), nil, nil))
	return m
}

// TestMultiRequest compares requests of many shapes with what protobuf's own code would send, and
// counts the pieces of cells.
func TestMultiRequest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		rows := randomMutations(rnd)
		chosen := make([]int, len(rows))
		for i := range chosen {
			chosen[i] = i
		}
		actions := encodeMutations("t", rows, chosen)
		msg, blocks, size := testMulti(t.Context(), actions).SerializeCellBlocks(nil)
		want, cells := protoRequest(rows)
		if got := decodeRequest(t, msg); !proto.Equal(want, got) {
			t.Fatalf("request for %v (-want +got):\n%s", rows, cmp.Diff(want, got, protocmp.Transform()))
		}
		if all := bytes.Join(blocks, nil); !bytes.Equal(all, cells) || int(size) != len(cells) {
			t.Fatalf("cells of %v:\n%x, announced %d, want\n%x", rows, all, size, cells)
		}
		if joint := len(want.GetRegionAction()) - 1; joint <= 0 && len(blocks) > 1 {
			t.Errorf("%d pieces of cells for one group", len(blocks))
		}
	}
}

func randomMutations(rnd *rand.Rand) []kv.Mutation {
	some := func(most int) []byte {
		b := make([]byte, rnd.IntN(most))
		for i := range b {
			b[i] = byte(rnd.Uint32())
		}
		return b
	}
	rows := make([]kv.Mutation, 1+rnd.IntN(300))
	deletes := rnd.IntN(3)
	for i := range rows {
		rows[i].Key = fmt.Appendf(nil, "%08d%s", i, some(300))
		for range 1 + rnd.IntN(200)%3 {
			rows[i].Puts = append(rows[i].Puts, kv.Put{Qualifier: some(10), Value: some(300), Time: rnd.Int64N(3)})
		}
		switch deletes * rnd.IntN(10) {
		case 1, 2:
			rows[i].Deletes = append(rows[i].Deletes, kv.Delete{Qualifier: some(5), Time: rnd.Int64N(3)}, kv.Delete{Qualifier: some(9)})
		case 3, 4:
			rows[i].Deletes, rows[i].Puts = []kv.Delete{{Qualifier: some(5)}}, nil
		case 5:
			rows[i].DeleteRow, rows[i].RowTime, rows[i].Puts = true, rnd.Int64N(3), nil
		}
	}
	return rows
}

// protoRequest builds the request and its cells in the simplest way.
func protoRequest(rows []kv.Mutation) (*pb.MultiRequest, []byte) {
	var cells, jointCells []byte
	where := &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: []byte("tsdb,,1.")}
	simple := &pb.RegionAction{Region: where}
	var joint []*pb.RegionAction
	for i := range rows {
		m := &rows[i]
		var parts []*pb.Action
		announce := func(kind pb.MutationProto_MutationType, n int) {
			parts = append(parts, &pb.Action{Index: new(uint32(i + 1)), Mutation: &pb.MutationProto{
				Row: m.Key, MutateType: &kind, AssociatedCellCount: new(int32(n)),
			}})
		}
		var own []byte
		for _, p := range m.Puts {
			own = appendCell(own, m.Key, "t", p.Qualifier, p.Value, p.Time, typePut)
		}
		for _, d := range m.Deletes {
			own = appendCell(own, m.Key, "t", d.Qualifier, nil, d.Time, typeDeleteColumn)
		}
		if m.DeleteRow {
			own = appendCell(own, m.Key, "t", nil, nil, m.RowTime, typeDeleteFamily)
		}
		if len(m.Puts) > 0 {
			announce(pb.MutationProto_PUT, len(m.Puts))
		}
		if n := len(m.Deletes); n > 0 || m.DeleteRow {
			announce(pb.MutationProto_DELETE, max(1, n))
		}
		if len(parts) > 1 {
			joint = append(joint, &pb.RegionAction{Region: where, Atomic: new(true), Action: parts})
			jointCells = append(jointCells, own...)
		} else {
			simple.Action = append(simple.Action, parts...)
			cells = append(cells, own...)
		}
	}
	request := &pb.MultiRequest{}
	if len(simple.GetAction()) > 0 {
		request.RegionAction = append(request.RegionAction, simple)
	}
	request.RegionAction = append(request.RegionAction, joint...)
	return request, append(cells, jointCells...)
}

// TestMultiGetRequest compares reads with protobuf's own code.
func TestMultiGetRequest(t *testing.T) {
	keys := [][]byte{[]byte("b"), []byte("a"), bytes.Repeat([]byte("long"), 100)}
	for name, tail := range map[string][]byte{"get": getTail("family"), "history": historyTail("family")} {
		t.Run(name, func(t *testing.T) { testMultiGetRequest(t, keys, name == "history", tail) })
	}
}

func testMultiGetRequest(t *testing.T, keys [][]byte, history bool, tail []byte) {
	actions := encodeGets(tail, keys, []int{1, 0, 2})
	keys[1][0] = 'x' // the batch has its own
	defer func() { keys[1][0] = 'a' }()
	msg, blocks, _ := testMulti(t.Context(), actions).SerializeCellBlocks(nil)
	group := &pb.RegionAction{Region: &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: []byte("tsdb,,1.")}}
	for i, row := range []string{"a", "b", string(keys[2])} {
		group.Action = append(group.Action, &pb.Action{Index: new(uint32(i + 1)), Get: &pb.Get{
			Row: []byte(row), Column: []*pb.Column{{Family: []byte("family")}}, TimeRange: &pb.TimeRange{},
		}})
		if get := group.GetAction()[i].GetGet(); history {
			get.MaxVersions = proto.Uint32(100)
			get.Attribute = []*pb.NameBytesPair{{Name: new("_raw_"), Value: []byte{0xff}}}
		}
	}
	want := &pb.MultiRequest{RegionAction: []*pb.RegionAction{group}}
	if diff := cmp.Diff(want, decodeRequest(t, msg), protocmp.Transform()); diff != "" || len(blocks) > 0 {
		t.Errorf("%d blocks (-want +got):\n%s", len(blocks), diff)
	}
}

// threeActions returns a put, a row with puts and deletes, and another put.
func threeActions() []action {
	put := []kv.Put{{Qualifier: []byte("q"), Value: []byte("v")}}
	return encodeMutations("t", []kv.Mutation{
		{Key: []byte("a"), Puts: put}, {Key: []byte("b"), Puts: put, Deletes: []kv.Delete{{Qualifier: []byte("d")}}}, {Key: []byte("c"), Puts: put},
	}, []int{0, 1, 2})
}

func pair(class, message string) *pb.NameBytesPair {
	return &pb.NameBytesPair{Name: &class, Value: []byte(class + ": " + message + "\n\tat some.Java")}
}

func of(index uint32, cells int32) *pb.ResultOrException {
	return &pb.ResultOrException{Index: &index, Result: &pb.Result{AssociatedCellCount: &cells}, LoadStats: &pb.RegionLoadStats{MemstoreLoad: &cells}} //nolint:staticcheck // servers still send it
}

// TestMultiResponse reads answers, with parts that are not needed among them.
func TestMultiResponse(t *testing.T) {
	block := appendCell(nil, []byte("a"), "t", []byte("1"), []byte("one"), 0, typePut)
	block = appendCell(block, []byte("a"), "t", []byte("2"), []byte("two"), 0, typePut)
	block = appendCell(block, []byte("c"), "t", []byte("3"), []byte("three"), 0, typePut)
	refused := of(3, 0)
	refused.Result, refused.Exception = nil, pair("x.TooBig", "no")
	for _, test := range []struct {
		name   string
		groups []*pb.RegionActionResult
		want   string // of each action its cells, or -; an exception; or nothing
	}{
		{"all done", []*pb.RegionActionResult{
			{ResultOrException: []*pb.ResultOrException{of(1, 2), of(3, 1)}}, {ResultOrException: []*pb.ResultOrException{of(0, 0), of(1, 0)}},
		}, "one,two - three"},
		{"one silent, one refused", []*pb.RegionActionResult{
			{ResultOrException: []*pb.ResultOrException{refused}}, {ResultOrException: []*pb.ResultOrException{of(0, 0)}},
		}, "? - TooBig:no"},
		{"groups refused", []*pb.RegionActionResult{{Exception: pair("y.Moved$Exception", "away")}, {Exception: pair("z.Late", "")}}, "Exception:away Late: Exception:away"},
		{"too few groups", []*pb.RegionActionResult{{}}, "malformed answer: 1 results for 2 groups"},
		{"too many groups", []*pb.RegionActionResult{{}, {}, {}}, "malformed answer: 3 results for 2 groups"},
		{"no such index", []*pb.RegionActionResult{{ResultOrException: []*pb.ResultOrException{of(4, 0)}}, {}}, "malformed answer: index 4 of 3"},
		{"index of none", []*pb.RegionActionResult{{ResultOrException: []*pb.ResultOrException{of(0, 0)}}, {}}, "malformed answer: index 0 of 3"},
		{"more cells than came", []*pb.RegionActionResult{{ResultOrException: []*pb.ResultOrException{of(1, 2), of(3, 2)}}, {}}, "malformed cell in the answer: 0 bytes left"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := testMulti(t.Context(), threeActions())
			m.SerializeCellBlocks(nil)
			m.block = block
			raw, err := proto.Marshal(&pb.MultiResponse{RegionActionResult: test.groups})
			if err != nil {
				t.Fatal(err)
			}
			answers, err := m.answers(raw)
			if got := describe(answers, err); got != test.want {
				t.Errorf("answers = %q, want %q", got, test.want)
			}
			for cut := range raw { // no prefix is taken for the whole answer
				if answers, err := m.answers(raw[:cut]); err == nil && !strings.HasPrefix(test.want, "malformed") {
					t.Errorf("the first %d of %d bytes are read as %q", cut, len(raw), describe(answers, err))
				}
			}
		})
	}
}

func describe(answers []answer, err error) string {
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, a := range answers {
		switch {
		case a.exception != nil:
			out = append(out, a.exception.class+":"+a.exception.message)
		case !a.done:
			out = append(out, "?")
		case len(a.cells) == 0:
			out = append(out, "-")
		default:
			var values []string
			for _, c := range a.cells {
				values = append(values, string(c.value))
			}
			out = append(out, strings.Join(values, ","))
		}
	}
	return strings.Join(out, " ")
}

// FuzzMultiResponse: no panic, and the result equals that of protobuf's own code.
func FuzzMultiResponse(f *testing.F) {
	for _, r := range []*pb.MultiResponse{
		{},
		{RegionActionResult: []*pb.RegionActionResult{{ResultOrException: []*pb.ResultOrException{of(1, 0), of(3, 0)}}, {}}},
		{RegionActionResult: []*pb.RegionActionResult{{Exception: pair("a.B", "c")}, {ResultOrException: []*pb.ResultOrException{of(0, 0)}}}},
	} {
		raw, err := proto.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		m := testMulti(t.Context(), threeActions())
		m.SerializeCellBlocks(nil)
		answers, err := m.answers(raw)
		if err != nil {
			if !errors.Is(err, errBadAnswer) && !errors.Is(err, errBadCell) {
				t.Errorf("error of another kind: %v", err)
			}
			return
		}
		var response pb.MultiResponse
		if (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(raw, &response) != nil {
			return // protobuf also checks fields that are not needed here
		}
		for i := range answers {
			exception, done := plainAnswer(&response, m, i)
			if exception != (answers[i].exception != nil) || !exception && done != answers[i].done {
				t.Errorf("action %d: %+v, protobuf reads an exception: %t, done: %t", i, answers[i], exception, done)
			}
		}
	})
}

// plainAnswer returns what a response has for an action.
func plainAnswer(response *pb.MultiResponse, m *multi, i int) (exception, done bool) {
	for g, result := range response.GetRegionActionResult() {
		if result.GetException() != nil {
			for _, n := range m.groups[g] {
				exception = exception || n == i
			}
		}
		for _, r := range result.GetResultOrException() {
			index := int(r.GetIndex()) - 1
			if g == 1 {
				index = 1 // the joint one
			}
			if index == i {
				exception = exception || r.GetException() != nil
				done = done || r.GetException() == nil
			}
		}
	}
	return exception, done
}

// BenchmarkMulti is a request of 500 rows with a cell each, from the mutations to the answers.
func BenchmarkMulti(b *testing.B) {
	const rows = 500
	mutations := make([]kv.Mutation, rows)
	order := make([]int, rows)
	var results []*pb.ResultOrException
	for i := range mutations {
		order[i] = i
		mutations[i] = kv.Mutation{Key: fmt.Appendf(nil, "row key of 50 bytes %030d", i), Puts: []kv.Put{{Qualifier: []byte("qq"), Value: []byte("value")}}}
		results = append(results, of(uint32(i+1), 0))
	}
	raw, err := proto.Marshal(&pb.MultiResponse{RegionActionResult: []*pb.RegionActionResult{{ResultOrException: results}}})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		m := testMulti(b.Context(), encodeMutations("t", mutations, order))
		msg, _, _ := m.SerializeCellBlocks(nil)
		if _, err := proto.Marshal(msg); err != nil {
			b.Fatal(err)
		}
		answers, err := m.answers(raw)
		if err != nil || !answers[rows-1].done {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
