package schema

import "testing"

func TestMistakenForAppend(t *testing.T) {
	for _, test := range []struct {
		qualifier []byte
		want      bool
	}{
		{[]byte{0x05, 0x00, 0x05, 0x10}, true},
		{[]byte{0x05, 0xFB, 0xF0, 0x10, 0x00, 0x0B}, true},
		{[]byte{0x05, 0x00}, false},             // one point
		{[]byte{0x05, 0x00, 0x00}, false},       // an append cell
		{[]byte{0x04, 0xF0, 0x05, 0x00}, false}, // begins with second 79
		{[]byte{0x06, 0x00, 0x06, 0x10}, false}, // with second 96
		{[]byte{0xF0, 0x01, 0x38, 0x80}, false},
		{nil, false},
	} {
		if got := MistakenForAppend(test.qualifier); got != test.want {
			t.Errorf("MistakenForAppend(%X) = %v", test.qualifier, got)
		}
	}
}

func TestFromFirst(t *testing.T) {
	for _, test := range []struct {
		offset       uint32
		millis, want bool
	}{
		{79_000, true, true},
		{80_000, true, false},
		{80_000, false, false},
		{80_001, true, true},
		{95_000, true, false},
		{96_000, true, true},
	} {
		p := IntPoint(test.offset, 7)
		p.Millis = test.millis
		if got := p.FromFirst(); got.Millis != test.want || got.Offset != p.Offset || !got.SameValue(p) {
			t.Errorf("%+v is %+v elsewhere", p, got)
		}
		if first := p.AsFirst(); p.FromFirst().AsFirst() != first {
			t.Errorf("%+v is %+v as first", p, first)
		}
	}
}

func TestWithOurUnit(t *testing.T) {
	for _, test := range []struct {
		offset       uint32
		millis, want bool
	}{
		{80_000, true, false},
		{80_000, false, false},
		{80_001, true, true},
		{MaxSecondsOffset * 1000, true, false},
		{MaxSecondsOffset*1000 + 1000, true, true}, // beyond the hour, and beyond what 2 bytes say
	} {
		p := IntPoint(test.offset, 7)
		p.Millis = test.millis
		if got := p.WithOurUnit(); got.Millis != test.want || got.Offset != p.Offset || !got.SameValue(p) {
			t.Errorf("%+v in our unit is %+v", p, got)
		}
	}
}
