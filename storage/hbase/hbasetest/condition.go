package hbasetest

import (
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// conditionHolds evaluates the condition of a group, if it has one, and adds the outcome to the
// result, whose message in gohbase lacks the field.
func conditionHolds(region *region, group *pb.RegionAction, result *pb.RegionActionResult) bool {
	when := field(group.ProtoReflect().GetUnknown(), 4)
	if when == nil {
		return true
	}
	var holds bool
	if f := field(when, 7); f != nil {
		holds = filterPasses(region, f, group.GetAction()[0].GetMutation().GetRow())
	} else {
		var c pb.Condition
		holds = proto.Unmarshal(when, &c) == nil && region.holdsTrue(&c)
	}
	const processed = 3
	b := protowire.AppendTag(nil, processed, protowire.VarintType)
	result.ProtoReflect().SetUnknown(protowire.AppendVarint(b, protowire.EncodeBool(holds)))
	return holds
}

// filterPasses reports whether a filter leaves anything of a row.
func filterPasses(region *region, filter, key []byte) bool {
	var f pb.Filter
	if proto.Unmarshal(filter, &f) != nil {
		return false
	}
	var cells []cell
	for _, family := range region.table.families {
		cells = append(cells, region.table.cells(key, family, nil, 0)...)
	}
	return passes(&f, cells)
}

// field returns the bytes of a field of a message, nil if it has none.
func field(message []byte, number protowire.Number) []byte {
	for len(message) > 0 {
		got, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(got, kind, message[n:])
		if size < 0 {
			return nil
		}
		if got == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message[n:])
			return value
		}
		message = message[n+size:]
	}
	return nil
}

// passes reports whether a filter leaves anything of a row. It knows the filter of an unchanged
// row: a list of a SkipFilter around a TimestampsFilter, and of a ColumnPaginationFilter.
func passes(f *pb.Filter, cells []cell) bool {
	var list pb.FilterList
	var skip pb.SkipFilter
	var stamps pb.TimestampsFilter
	var page pb.ColumnPaginationFilter
	if f.GetName() != javaPackage+"filter.FilterList" || proto.Unmarshal(f.GetSerializedFilter(), &list) != nil || len(list.GetFilters()) != 2 ||
		proto.Unmarshal(list.GetFilters()[0].GetSerializedFilter(), &skip) != nil ||
		proto.Unmarshal(skip.GetFilter().GetSerializedFilter(), &stamps) != nil ||
		proto.Unmarshal(list.GetFilters()[1].GetSerializedFilter(), &page) != nil {
		return false
	}
	for _, c := range cells {
		if !slices.Contains(stamps.GetTimestamps(), c.time) {
			return false
		}
	}
	return len(cells) > int(page.GetOffset())
}
