package schema

import (
	"encoding/hex"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The flaws of cells, named after the case of OpenTSDB 2.4.1's TestFsck where there is one.
func TestCheckData(t *testing.T) {
	for _, c := range []struct {
		name, cell string
		want       Flaws
		points     string // the cell that holds them; "": none
	}{
		{"noErrors", "0007=0000000800000004", 0, "0007=0000000800000004"},
		{"noErrorsMilliseconds", "F0000207=0000000800000004", 0, "F0000207=0000000800000004"},
		{"noErrorsCompacted", "00000020=040500", 0, "00000020=040500"},
		{"noErrorsCompactedMix", "0000F0000200=040501", 0, "0000F0000200=040501"},
		{"singleValueCompacted", "0007=000000000000000400", FlawUnreadable, ""},
		{"lastCompactedByteNotZero", "00000020=040503", FlawTrailer, "00000020=040500"},
		{"no last byte", "00000020=0405", FlawTrailer, "00000020=040500"},
		{"mixed without its mark", "0000F0000200=040500", FlawTrailer, "0000F0000200=040501"},
		{"seconds with the mark", "00000020=040501", FlawTrailer, "00000020=040500"},
		{"valueTooLong", "0000=0004", FlawValueLength, "0001=0004"},
		{"valueTooLong, no length", "0000=000004", FlawUnreadable, ""},
		{"valueTooLongMS", "F0000200=0004", FlawUnreadable, ""},
		{"valueTooShort", "0001=04", FlawValueLength, "0000=04"},
		{"empty value", "0000=", FlawUnreadable, ""},
		{"float8byteVal4byteQual", "000B=0000000040866666", FlawFloatLength, "000B=40866666"},
		{"float8byteVal4byteQual, ms", "F000020B=0000000040866666", FlawFloatLength, "F000020B=40866666"},
		{"float8byteVal8byteQual", "000F=4010CCCCC0000000", 0, "000F=4010CCCCC0000000"},
		{"float8byteVal4byteQualSignExtensionBug", "000B=FFFFFFFF40866666", FlawFloatLength, "000B=40866666"},
		{"float8byteVal4byteQualSignExtensionBug, ms", "F000020B=FFFFFFFF40866666", FlawUnreadable, ""},
		{"float8byteVal4byteQualSignExtensionBugCompacted", "000B002B=0000000040866666FFFFFFFF43FA666600", FlawTrailer, "000B002B=000000004086666600"},
		{"float8byteVal4byteQualMessedUp", "000B=FBFFFFFF40866666", FlawUnreadable, ""},
		{"float4byteVal8byteQual", "000F=40866666", FlawValueLength, "000B=40866666"},
		{"floatBadVal4ByteQual", "000B=408666", FlawUnreadable, ""},
		{"integerWrongLength", "0002=0004", FlawValueLength, "0001=0004"},
		{"compactOutOfOrder", "00200000=050400", FlawOrder, "00000020=040500"},
		{"badCompactTooShort", "000700270047=0000000000000004000000000000000500000000000000", FlawUnreadable, ""},
		{"badCompactTooLong", "00070027=000000000000000400000000000000050000000000000000", FlawTrailer | FlawLongInteger, "00000020=040500"},
		{"integerVle1Byte", "0007=0000000000000001", FlawLongInteger, "0000=01"},
		{"integerVle1ByteNegative", "0007=FFFFFFFFFFFFFFFF", FlawLongInteger, "0000=FF"},
		{"integerVle2Bytes", "0007=0000000000000101", FlawLongInteger, "0001=0101"},
		{"integerVle4Bytes", "0007=0000000000010101", FlawLongInteger, "0003=00010101"},
		{"compactedVLE", "00070027=0000000000000004000000000000000500", FlawLongInteger, "00000020=040500"},
		{"twice in one cell", "0000F0000000=040501", FlawTwice, ""},
		{"reserved bits", "F0000230=04", FlawReserved, "F0000200=04"},
		{"mistaken", "05000510=040500", FlawMistaken, "F04E20000510=040501"},
		{"outside, seconds", "E110=04", FlawOutside, "E110=04"},
		{"outside, milliseconds", "FDBBA000=04", FlawOutside, "FDBBA000=04"},
		{"half of milliseconds", "F000=04", FlawUnreadable, ""},
	} {
		q, v := parseCell(t, c.cell)
		points, flaws, err := CheckData(nil, q, v)
		if flaws != c.want || (err != nil) != (flaws == FlawUnreadable) {
			t.Errorf("%s: %s: %v (%v), want %v", c.name, c.cell, flaws, err, c.want)
		}
		if err != nil || flaws&FlawTwice != 0 {
			continue
		}
		for i := range points {
			points[i] = points[i].Shortest()
		}
		slices.SortFunc(points, func(a, b Point) int { return int(a.Offset) - int(b.Offset) })
		q, v = AppendCell(nil, nil, points)
		if diff := cmp.Diff(c.points, cellText(q, v)); diff != "" {
			t.Errorf("%s: %s mended (-want +got):\n%s", c.name, c.cell, diff)
		}
	}
}

func cellText(q, v []byte) string {
	upper := func(b []byte) string { return string(appendHex(nil, b)) }
	return upper(q) + "=" + upper(v)
}

func TestCheckAppend(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        Flaws
		tidy        string
	}{
		{"appendOK", "000004002005", 0, "000004002005"},
		{"appendOutOfOrder", "002005000004", FlawOrder, "000004002005"},
		{"appendDupe", "000004000006002005", FlawTwice, "000006002005"},
		{"cut off", "0000040020", FlawUnreadable, ""},
	} {
		value, _ := hex.DecodeString(c.value)
		_, flaws, err := CheckAppend(nil, value)
		if flaws != c.want || (err != nil) != (c.tidy == "") {
			t.Errorf("%s: %v (%v), want %v", c.name, flaws, err, c.want)
		}
		if tidy, err := TidyAppend(value); err == nil && hex.EncodeToString(tidy) != c.tidy {
			t.Errorf("%s: tidy %x, want %s", c.name, tidy, c.tidy)
		}
	}
}

func TestCheckRowKey(t *testing.T) {
	salted := DefaultLayout()
	salted.SaltWidth, salted.SaltBuckets = 1, 20
	for _, c := range []struct {
		name   string
		layout Layout
		key    string
		want   Flaws
	}{
		{"plain", DefaultLayout(), "000001 50E22700 000001000001", 0},
		{"global annotations", DefaultLayout(), "000000 50E22700", 0},
		{"badRowKey", DefaultLayout(), "000001 50E22700 0000010000", FlawKeyLength},
		{"short", DefaultLayout(), "000001", FlawKeyLength},
		{"no tags", DefaultLayout(), "000001 50E22700", FlawNoTags},
		{"metric 0", DefaultLayout(), "000000 50E22700 000001000001", FlawZeroUID},
		{"order", DefaultLayout(), "000001 50E22700 000002000001 000001000001", FlawTagOrder},
		{"key twice", DefaultLayout(), "000001 50E22700 000001000001 000001000002", FlawTagOrder},
		{"half past", DefaultLayout(), "000001 50E22E08 000001000001", FlawBaseTime},
		{"salt", salted, "08 000001 50E22700 000001000001", 0},
		{"wrong salt", salted, "07 000001 50E22700 000001000001", FlawSalt},
		{"salted global", salted, "01 000000 50E22700", FlawSalt},
	} {
		if _, got := c.layout.CheckRowKey(parseHex(t, c.key)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// What a check can read it mends to cells that are without flaws, with the same points; what it
// calls flawless is what DecodeData reads and AppendCell writes.
func FuzzCheckData(f *testing.F) {
	f.Add([]byte{0, 7}, []byte{0, 0, 0, 0, 0, 0, 0, 4})
	f.Add([]byte{0, 0x20, 0, 0}, []byte{5, 4, 0})
	f.Add([]byte{0xF0, 0, 2, 0x30}, []byte{4})
	f.Fuzz(func(t *testing.T, q, v []byte) {
		if ClassifyCell(q) != CellData {
			return
		}
		points, flaws, err := CheckData(nil, q, v)
		decoded, decodeErr := DecodeData(nil, q, v)
		if err != nil {
			if decodeErr == nil {
				t.Fatalf("%X=%X: readers read %v, the check %v", q, v, decoded, err)
			}
			return
		}
		if decodeErr == nil && !slices.Equal(points, decoded) {
			t.Fatalf("%X=%X: %v, readers read %v", q, v, points, decoded)
		}
		if flaws&FlawTwice != 0 {
			return
		}
		slices.SortFunc(points, func(a, b Point) int { return int(a.Offset) - int(b.Offset) })
		for i := 1; i < len(points); i++ {
			if points[i].Offset == points[i-1].Offset {
				return // twice, but not one after the other
			}
		}
		mq, mv := AppendCell(nil, nil, points)
		if _, left, err := CheckData(nil, mq, mv); err != nil || left&^(FlawOutside|FlawLongInteger) != 0 {
			t.Fatalf("%X=%X mended to %X=%X: %v %v", q, v, mq, mv, left, err)
		}
		if flaws == 0 && (string(mq) != string(q) || string(mv) != string(v)) {
			t.Fatalf("%X=%X has no flaws and would be written %X=%X", q, v, mq, mv)
		}
	})
}
