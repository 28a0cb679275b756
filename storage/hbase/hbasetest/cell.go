package hbasetest

import "encoding/binary"

// The types of org.apache.hadoop.hbase.KeyValue that are understood.
const (
	typePut                 = 4
	typeDelete              = 8
	typeDeleteFamilyVersion = 10
	typeDeleteColumn        = 12
	typeDeleteFamily        = 14
)

// A cell is written here a second time, apart from the engine's own reading of the layout.
type cell struct {
	row       []byte
	family    string
	qualifier []byte
	value     []byte
	time      int64
	kind      byte
}

// parse reads one KeyValue and returns what follows.
func parse(b []byte) (c cell, rest []byte) {
	total := 4 + binary.BigEndian.Uint32(b)
	value := binary.BigEndian.Uint32(b[8:])
	kv := b[12:total]
	c.value = clone(kv[uint32(len(kv))-value:])
	kv = kv[:uint32(len(kv))-value]
	n := binary.BigEndian.Uint16(kv)
	c.row, kv = clone(kv[2:2+n]), kv[2+n:]
	f := kv[0]
	c.family, kv = string(kv[1:1+f]), kv[1+f:]
	at := len(kv) - 9
	c.qualifier, c.time, c.kind = clone(kv[:at]), int64(binary.BigEndian.Uint64(kv[at:])), kv[at+8]
	return c, b[total:]
}

func clone(b []byte) []byte { return append([]byte{}, b...) }

// appendTo writes c as KeyValueCodec does.
func (c cell) appendTo(b []byte) []byte {
	key := 12 + len(c.row) + len(c.family) + len(c.qualifier)
	b = binary.BigEndian.AppendUint32(b, uint32(8+key+len(c.value)))
	b = binary.BigEndian.AppendUint32(b, uint32(key))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.value)))
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(c.row))), c.row...)
	b = append(append(b, byte(len(c.family))), c.family...)
	b = append(b, c.qualifier...)
	b = append(binary.BigEndian.AppendUint64(b, uint64(c.time)), c.kind)
	return append(b, c.value...)
}
