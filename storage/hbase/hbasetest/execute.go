package hbasetest

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

func (r *request) get(m *pb.GetRequest) (proto.Message, error) {
	region, err := r.region(m.GetRegion())
	if err != nil {
		return nil, err
	}
	_, exists := region.table.rows[string(m.GetGet().GetRow())]
	return &pb.GetResponse{Result: &pb.Result{Exists: &exists}}, nil
}

// multi carries out the groups one after the other.
func (r *request) multi(m *pb.MultiRequest) proto.Message {
	response := &pb.MultiResponse{}
	for i, group := range m.GetRegionAction() {
		result := &pb.RegionActionResult{}
		region, err := r.region(group.GetRegion())
		if r.fault.RowException != "" {
			err = exception(r.fault.RowException)
		}
		if err != nil {
			result.Exception = nameValue(err)
			r.skipCells(group)
		} else {
			actions := group.GetAction()
			if r.fault.Silent && i == len(m.GetRegionAction())-1 {
				actions = actions[:len(actions)-1]
				if group.GetAtomic() {
					actions = nil
				}
			}
			if r.c.Unconditional[r.server] || conditionHolds(region, group, result) {
				r.group(region, group.GetAtomic(), actions, result)
			} else {
				r.skipCells(group)
			}
		}
		response.RegionActionResult = append(response.RegionActionResult, result)
	}
	return response
}

func nameValue(err error) *pb.NameBytesPair {
	return &pb.NameBytesPair{Name: new(err.Error()), Value: []byte(err.Error() + ": as the test wants it\n\tat some.Java(Source.java:1)")}
}

func (r *request) skipCells(group *pb.RegionAction) {
	for _, a := range group.GetAction() {
		if a.GetMutation() != nil {
			r.cells(a.GetMutation())
		}
	}
}

// group carries out the actions of one region. In an atomic group results are numbered from 0,
// otherwise as in the request.
func (r *request) group(region *region, atomic bool, actions []*pb.Action, result *pb.RegionActionResult) {
	for i, a := range actions {
		one := &pb.ResultOrException{Index: a.Index}
		if atomic {
			one.Index = new(uint32(i))
		}
		result.ResultOrException = append(result.ResultOrException, one)
		var err error
		if get := a.GetGet(); get != nil {
			one.Result, err = r.read(region, get)
		} else {
			one.Result, err = &pb.Result{}, r.change(region, a.GetMutation())
		}
		switch {
		case err != nil && atomic:
			result.ResultOrException, result.Exception = nil, nameValue(err)
			return
		case err != nil:
			one.Result, one.Exception = nil, nameValue(err)
		}
	}
}

// read puts the cells of a row into the answer.
func (r *request) read(region *region, get *pb.Get) (*pb.Result, error) {
	column := get.GetColumn()[0]
	if err := region.check(get.GetRow(), string(column.GetFamily())); err != nil {
		return nil, err
	}
	cells := region.table.cells(get.GetRow(), string(column.GetFamily()), column.GetQualifier(), 0)
	if raw(get) {
		cells = region.table.raw(get.GetRow(), string(column.GetFamily()), int(get.GetMaxVersions()))
	}
	for _, c := range cells {
		r.out = c.appendTo(r.out)
	}
	return &pb.Result{AssociatedCellCount: new(int32(len(cells)))}, nil
}

// raw reports whether a read has the attribute of a raw scan.
func raw(get *pb.Get) bool {
	return slices.ContainsFunc(get.GetAttribute(), func(a *pb.NameBytesPair) bool {
		return a.GetName() == "_raw_" && bytes.Equal(a.GetValue(), []byte{0xff})
	})
}

// check reports whether a row and a family are in the region.
func (r *region) check(key []byte, family string) error {
	if !r.holds(key) {
		return exception(javaPackage + "regionserver.WrongRegionException")
	}
	if !slices.Contains(r.table.families, family) {
		return noFamily
	}
	return nil
}

// cells are those of a mutation, from the cell block or from the message itself.
func (r *request) cells(m *pb.MutationProto) []cell {
	var cells []cell
	for range m.GetAssociatedCellCount() {
		var c cell
		c, r.in = parse(r.in)
		cells = append(cells, c)
	}
	for _, column := range m.GetColumnValue() {
		for _, q := range column.GetQualifierValue() {
			cells = append(cells, cell{
				row: m.GetRow(), family: string(column.GetFamily()), qualifier: clone(q.GetQualifier()), value: clone(q.GetValue()),
				time: math.MaxInt64, kind: typePut,
			})
		}
	}
	return cells
}

// change carries out a put or a delete.
func (r *request) change(region *region, m *pb.MutationProto) error {
	cells := r.cells(m)
	for _, c := range cells {
		if err := region.check(c.row, c.family); err != nil {
			return err
		}
	}
	for _, c := range cells {
		region.table.add(c)
	}
	return nil
}

// mutate carries out an increment or a conditional put.
func (r *request) mutate(m *pb.MutateRequest) (proto.Message, error) {
	region, err := r.region(m.GetRegion())
	if err != nil {
		return nil, err
	}
	if m.GetMutation().GetMutateType() == pb.MutationProto_INCREMENT {
		return r.increment(region, m.GetMutation())
	}
	if when := m.GetCondition(); when != nil && !region.holdsTrue(when) {
		return &pb.MutateResponse{Processed: new(false)}, nil
	}
	return &pb.MutateResponse{Processed: new(true)}, r.change(region, m.GetMutation())
}

func (r *request) increment(region *region, m *pb.MutationProto) (proto.Message, error) {
	c := r.cells(m)[0]
	if err := region.check(c.row, c.family); err != nil {
		return nil, err
	}
	sum := binary.BigEndian.Uint64(c.value)
	if held := region.table.cells(c.row, c.family, [][]byte{c.qualifier}, 0); len(held) > 0 {
		if len(held[0].value) != 8 {
			return nil, doNotRetry
		}
		sum += binary.BigEndian.Uint64(held[0].value)
	}
	c.value = binary.BigEndian.AppendUint64(nil, sum)
	c.time = math.MaxInt64
	region.table.add(c)
	r.out = c.appendTo(r.out)
	return &pb.MutateResponse{Result: &pb.Result{AssociatedCellCount: proto.Int32(1)}}, nil
}

// holdsTrue compares as HBase does: no bytes expected means that the cell is absent or empty.
func (r *region) holdsTrue(when *pb.Condition) bool {
	held := r.table.cells(when.GetRow(), string(when.GetFamily()), [][]byte{when.GetQualifier()}, 0)
	if when.GetComparator().GetName() != javaPackage+"filter.BinaryComparator" {
		// the regexp of nothing, the only other that is understood
		return len(held) > 0 && len(held[0].value) == 0
	}
	var binary pb.BinaryComparator
	if err := proto.Unmarshal(when.GetComparator().GetSerializedComparator(), &binary); err != nil {
		return false
	}
	want := binary.GetComparable().GetValue()
	if len(held) == 0 {
		return len(want) == 0
	}
	return bytes.Equal(held[0].value, want)
}
