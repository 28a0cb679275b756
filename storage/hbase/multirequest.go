package hbase

import (
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The messages of a Multi are written and read here as bytes: protobuf's own code makes five
// objects of every row. The numbers are those of HBase's Client.proto:
//
//	MultiRequest  1 RegionAction...
//	RegionAction  1 RegionSpecifier, 2 atomic, 3 Action..., 4 Condition
//	Action        1 index, 2 MutationProto, 3 Get
//	MutationProto 1 row, 2 mutate_type, 8 associated_cell_count
//	Get           1 row, 2 Column..., 3 NameBytesPair..., 5 TimeRange, 6 max_versions

// rawMessage returns a message that is encoded already: gohbase marshals what it does not know as
// it is.
func rawMessage(b []byte) proto.Message {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(b)
	return m
}

// actionOverhead is more than an action has in addition to its row key.
const actionOverhead = 40

// appendGroup appends one RegionAction: the actions of the given numbers, or the only one, which is
// to be atomic or has a condition.
func (m *multi) appendGroup(dst, region []byte, rows []int) []byte {
	size := len(region)
	for _, i := range rows {
		size += 2*len(m.sent[i].key) + actionOverhead + len(m.sent[i].get) + len(m.sent[i].condition)
	}
	group := make([]byte, 0, size)
	group = append(group, region...)
	if m.sent[rows[0]].joint() {
		group = protowire.AppendTag(group, 2, protowire.VarintType)
		group = protowire.AppendVarint(group, 1)
	}
	for _, i := range rows {
		group = m.sent[i].appendTo(group, i)
	}
	group = append(group, m.sent[rows[0]].condition...)
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	return protowire.AppendBytes(dst, group)
}

// appendTo appends the action as the i-th of a request; the server repeats the index in its answer,
// where 0 means none.
func (a *action) appendTo(dst []byte, i int) []byte {
	index := uint64(i + 1)
	if a.get != nil {
		body := sizeTagged(len(a.key)) + len(a.get)
		dst = appendActionHead(dst, index, 3, body)
		dst = protowire.AppendTag(dst, 1, protowire.BytesType)
		dst = protowire.AppendBytes(dst, a.key)
		return append(dst, a.get...)
	}
	if a.puts > 0 {
		dst = appendMutation(dst, index, a.key, pb.MutationProto_PUT, uint64(a.puts))
	}
	if a.deletes > 0 {
		dst = appendMutation(dst, index, a.key, pb.MutationProto_DELETE, uint64(a.deletes))
	}
	return dst
}

// appendMutation appends an Action that announces n cells in the cell block.
func appendMutation(dst []byte, index uint64, row []byte, kind pb.MutationProto_MutationType, n uint64) []byte {
	body := sizeTagged(len(row)) + 1 + 1 + 1 + protowire.SizeVarint(n)
	dst = appendActionHead(dst, index, 2, body)
	dst = protowire.AppendTag(dst, 1, protowire.BytesType)
	dst = protowire.AppendBytes(dst, row)
	dst = protowire.AppendTag(dst, 2, protowire.VarintType)
	dst = protowire.AppendVarint(dst, uint64(kind))
	dst = protowire.AppendTag(dst, 8, protowire.VarintType)
	return protowire.AppendVarint(dst, n)
}

// appendActionHead appends what comes before the body, of a known size, of an Action's field.
func appendActionHead(dst []byte, index uint64, field protowire.Number, body int) []byte {
	dst = protowire.AppendTag(dst, 3, protowire.BytesType)
	dst = protowire.AppendVarint(dst, uint64(1+protowire.SizeVarint(index)+sizeTagged(body)))
	dst = protowire.AppendTag(dst, 1, protowire.VarintType)
	dst = protowire.AppendVarint(dst, index)
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return protowire.AppendVarint(dst, uint64(body))
}

// sizeTagged returns the size of a field of n bytes with its tag, of one byte, and its length.
func sizeTagged(n int) int { return 1 + protowire.SizeBytes(n) }

// getTail returns the part of a Get of a whole family after its row.
func getTail(family string) []byte {
	b := protowire.AppendTag(nil, 2, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeTagged(len(family))))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendString(b, family)
	b = protowire.AppendTag(b, 5, protowire.BytesType)
	return protowire.AppendBytes(b, nil)
}

// maxVersions bounds the versions of a cell in a History.
const maxVersions = 100

// historyTail returns the part of a Get of a whole family after its row when it wants older
// versions and deletions too. The server makes a scan of a Get and copies its attributes, among
// them the one that makes a scan raw; Get itself has no field for it.
func historyTail(family string) []byte {
	b := getTail(family)
	const name = "_raw_"  // Scan.RAW_ATTR
	value := []byte{0xff} // Bytes.toBytes(true)
	b = protowire.AppendTag(b, 3, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sizeTagged(len(name))+sizeTagged(len(value))))
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendString(b, name)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendBytes(b, value)
	b = protowire.AppendTag(b, 6, protowire.VarintType)
	return protowire.AppendVarint(b, maxVersions)
}

// regionField returns the first field of a RegionAction.
func regionField(name []byte) []byte {
	b := protowire.AppendTag(nil, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(2+sizeTagged(len(name))))
	b = protowire.AppendTag(b, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(pb.RegionSpecifier_REGION_NAME))
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendBytes(b, name)
}
