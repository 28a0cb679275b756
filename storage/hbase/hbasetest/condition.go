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
	f := condition(group)
	if f == nil {
		return true
	}
	key := group.GetAction()[0].GetMutation().GetRow()
	var cells []cell
	for _, family := range region.table.families {
		cells = append(cells, region.table.cells(key, family, nil, 0)...)
	}
	holds := passes(f, cells)
	const processed = 3
	b := protowire.AppendTag(nil, processed, protowire.VarintType)
	result.ProtoReflect().SetUnknown(protowire.AppendVarint(b, protowire.EncodeBool(holds)))
	return holds
}

// condition returns the filter of a RegionAction's Condition, which gohbase's messages do not have;
// nil if there is none.
func condition(group *pb.RegionAction) *pb.Filter {
	found := field(field(group.ProtoReflect().GetUnknown(), 4), 7)
	if found == nil {
		return nil
	}
	var f pb.Filter
	if proto.Unmarshal(found, &f) != nil {
		return nil
	}
	return &f
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
