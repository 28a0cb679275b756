package own

import (
	"bytes"
	"math"
	"testing"
)

func TestFillLateKeys(t *testing.T) {
	for _, generation := range []uint64{0, 1, 255, math.MaxUint64} {
		key := FillLateKey(generation, 0x50E22700)
		g, base, ok := ParseFillLateKey(key)
		if !ok || g != generation || base != 0x50E22700 {
			t.Errorf("%x is hour %d of generation %d, %v", key, base, g, ok)
		}
		start, stop := FillLate(generation)
		if bytes.Compare(key, start) < 0 || bytes.Compare(key, stop) >= 0 {
			t.Errorf("%x is not between %x and %x", key, start, stop)
		}
		if generation > 0 {
			if _, stop := FillLate(generation - 1); bytes.Compare(key, stop) < 0 {
				t.Errorf("%x is before %x", key, stop)
			}
		}
	}
	for _, key := range [][]byte{FillStateKey(), LeaseKey(nil), append(FillLateKey(1, 2), 0)} {
		if _, _, ok := ParseFillLateKey(key); ok {
			t.Errorf("%x is taken for an hour", key)
		}
	}
}

func TestFillLateQualifiers(t *testing.T) {
	for _, c := range []struct{ metric, tsuid, want string }{
		{"", "", "a"}, {"\x00\x00\x01", "", "m\x00\x00\x01"}, {"", "abc", "sabc"},
	} {
		q := FillLateQualifier(c.metric, c.tsuid)
		metric, tsuid, ok := ParseFillLateQualifier(q)
		if string(q) != c.want || !ok || metric != c.metric || tsuid != c.tsuid {
			t.Errorf("%q, %q is %q, and comes back as %q, %q, %v", c.metric, c.tsuid, q, metric, tsuid, ok)
		}
	}
	for _, bad := range []string{"", "m", "s", "x", "aa"} {
		if _, _, ok := ParseFillLateQualifier([]byte(bad)); ok {
			t.Errorf("%q is understood", bad)
		}
	}
}
