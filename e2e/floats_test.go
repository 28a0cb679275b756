package e2e_test

import (
	"math"
	"testing"
	"time"

	"github.com/golang/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestFloatBits writes floats of all kinds and checks that their bits come back, also after a
// crash. The message is encoded by hand: Prometheus' library does not send -0.
func TestFloatBits(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	begin := time.Now().Add(-time.Hour).Truncate(time.Second)
	bits := []uint64{
		0, 1 << 63, 1, 0x000fffffffffffff, math.Float64bits(0.1), math.Float64bits(float64(float32(0.1))), math.Float64bits(1 << 53),
		math.Float64bits(math.MaxFloat64), math.Float64bits(math.Inf(1)), math.Float64bits(math.Inf(-1)),
		0x7ff8000000000001, 0x7ff0000000000002, 0xfff8000000000123, 0x7ff00000deadbeef,
	}
	label := func(name, value string) []byte {
		return protowire.AppendString(protowire.AppendTag(protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name), 2, protowire.BytesType), value)
	}
	ts := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), label("__name__", "bits"))
	for i, b := range bits {
		s := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), b)
		// whole seconds and other times are stored differently
		at := begin.Add(time.Duration(i) * 999 * time.Millisecond)
		s = protowire.AppendVarint(protowire.AppendTag(s, 2, protowire.VarintType), uint64(at.UnixMilli()))
		ts = protowire.AppendBytes(protowire.AppendTag(ts, 2, protowire.BytesType), s)
	}
	m := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), ts)
	a.Post(t, "/api/v1/write", writeHeader(contentV1, nil), snappy.Encode(nil, m)).ok(t)
	a.Kill()
	a.Restart(t)

	got := a.Read(t, begin, begin.Add(time.Minute), equals("__name__", "bits"))
	if len(got) != 1 || len(got[0].Samples) != len(bits) {
		t.Fatalf("read %v, want %d samples", got, len(bits))
	}
	for i, s := range got[0].Samples {
		if b := math.Float64bits(s.Value); b != bits[i] {
			t.Errorf("sample %d: %016x, want %016x", i, b, bits[i])
		}
	}
	if negative := a.Query(t, "1 / bits", begin.Add(time.Second)); len(negative) != 1 || negative[0].points[0].value != "-Inf" {
		t.Errorf("1 / -0 = %v, want -Inf", negative)
	}
}
