package schema

import (
	"encoding/hex"
	"math"
	"testing"
)

// The vectors are those of OpenTSDB's TestRollupUtils, and of cells that a TSD 2.4.1 wrote.
func TestRollupQualifier(t *testing.T) {
	for _, c := range []struct {
		time     uint32
		interval uint32
		span     RollupSpan
		base     uint32
		want     string
	}{
		{1356998400, 600, RollupSpan{'d', 1}, 0x50E22700, "000000"},
		{1370532925, 600, RollupSpan{'d', 1}, 1370476800, "0005d0"},
		{1370534399, 600, RollupSpan{'d', 1}, 1370476800, "0005f0"},
		{1372636799, 3600, RollupSpan{'n', 1}, 1370044800, "002cf0"},
		{1370532925, 86400, RollupSpan{'y', 1}, 1356998400, "0009c0"},
		{1388534399, 86400, RollupSpan{'y', 1}, 1356998400, "0016c0"},
		{1370541599, 600, RollupSpan{'h', 6}, 1370520000, "000230"},
		{1356998400 + 5*3600, 3600, RollupSpan{'d', 1}, 1356998400, "000050"},
		{math.MaxUint32, 3600, RollupSpan{'h', 1}, math.MaxUint32 - math.MaxUint32%3600, "000000"},
	} {
		base := c.span.Base(c.time)
		if base != c.base {
			t.Errorf("base of %d in %v is %d, want %d", c.time, c.span, base, c.base)
		}
		if got := hex.EncodeToString(RollupQualifier(0, int((c.time-base)/c.interval), 0)); got != c.want {
			t.Errorf("qualifier of %d is %s, want %s", c.time, got, c.want)
		}
	}
}

func TestParseRollup(t *testing.T) {
	float, _ := FloatPoint(0, 1.5, ValuesDouble)
	for _, c := range []struct {
		qualifier, value string
		interval         int
		want             float64
		ok, wrong        bool
	}{
		{"020050", "2a", 5, 42, true, false},
		{"02005f", hex.EncodeToString(float.AppendValue(nil)), 5, 1.5, true, false},
		{"02fff0", "01", 0xFFF, 1, true, false}, // no milliseconds
		{"6d696e3a0051", "0100", 5, 256, true, false},
		{"010050", "2a", 0, 0, false, false},
		{"0050", "2a", 0, 0, false, false},
		{"6d696e3a00", "2a", 0, 0, false, false},
		{"02005f", "01020304050607", 0, 0, false, true},
	} {
		qualifier, _ := hex.DecodeString(c.qualifier)
		value, _ := hex.DecodeString(c.value)
		n, p, ok, err := ParseRollup(qualifier, value, 2, "min")
		if ok != c.ok || (err != nil) != c.wrong || ok && (n != c.interval || p.Float() != c.want) {
			t.Errorf("%s %s is %v of interval %d, %v, %v", c.qualifier, c.value, p.Float(), n, ok, err)
		}
	}
}

func FuzzRollup(f *testing.F) {
	f.Add([]byte{2, 0, 0x50}, []byte{42}, int64(-7), 77)
	f.Fuzz(func(t *testing.T, qualifier, value []byte, v int64, interval int) {
		_, _, _, _ = ParseRollup(qualifier, value, 2, "min")
		_, _ = RollupInterval(qualifier)
		_, _ = OffsetOf(qualifier)
		interval &= MaxRollupIntervals - 1
		want := IntPoint(0, v)
		n, p, ok, err := ParseRollup(RollupQualifier(2, interval, want.Flags), want.AppendValue(nil), 2, "min")
		if err != nil || !ok || n != interval || p.Int() != v {
			t.Fatalf("%d of interval %d comes back as %d of %d, %v, %v", v, interval, p.Int(), n, ok, err)
		}
		if again, ok := RollupInterval(RollupQualifier(2, interval, want.Flags)); !ok || again != interval {
			t.Fatalf("interval %d comes back as %d, %v", interval, again, ok)
		}
	})
}
