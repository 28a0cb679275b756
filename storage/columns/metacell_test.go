package columns

import (
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Documents as they were made take a quarter of their size, and everything else is kept as it is.
func TestMetaCells(t *testing.T) {
	tsuid := []byte{0, 0, 1, 0, 0, 2, 0xAB, 0xCD, 0xEF}
	fresh := string(schema.AppendNewTSMeta(nil, tsuid, 1_356_998_400))
	edited := schema.NewTSMeta(tsuid, 1_356_998_400)
	edited.Custom = schema.Custom{{Name: "interval", Value: "10"}}
	for _, c := range []struct {
		name, qualifier, value string
		coded                  bool
	}{
		{"fresh", string(schema.MetaQualifier()), fresh, true},
		{"at zero", string(schema.MetaQualifier()), string(schema.AppendNewTSMeta(nil, tsuid, 0)), true},
		{"without a TSUID", string(schema.MetaQualifier()), string(schema.AppendNewTSMeta(nil, nil, 1)), true},
		{"edited", string(schema.MetaQualifier()), string(edited.AppendTo(nil)), false},
		{"another column", "ts_mete", fresh, false},
		{"lower case", string(schema.MetaQualifier()), strings.Replace(fresh, "ABCDEF", "abcdef", 1), false},
		{"half a byte", string(schema.MetaQualifier()), strings.Replace(fresh, "ABCDEF", "ABCDE", 1), false},
		{"leading zero", string(schema.MetaQualifier()), strings.Replace(fresh, ":1356998400", ":01356998400", 1), false},
		{"negative", string(schema.MetaQualifier()), string(schema.AppendNewTSMeta(nil, tsuid, -1)), false},
		{"no time", string(schema.MetaQualifier()), strings.Replace(fresh, ":1356998400", ":", 1), false},
		{"a time beyond all", string(schema.MetaQualifier()), strings.Replace(fresh, ":1356998400", ":99999999999999999999", 1), false},
		{"a byte more", string(schema.MetaQualifier()), fresh + " ", false},
		{"a byte less", string(schema.MetaQualifier()), fresh[:len(fresh)-1], false},
		{"a number only", string(schema.MetaQualifier()), "1", false},
		{"nothing", string(schema.MetaQualifier()), "", false},
	} {
		var e Encoder
		coded, ok := e.Append([]byte("before"), []byte(c.qualifier), []byte(c.value))
		if ok != c.coded {
			t.Errorf("%s: coded is %v, want %v", c.name, ok, c.coded)
		}
		if !ok {
			if string(coded) != "before" {
				t.Errorf("%s: not coded, and %q is left", c.name, coded)
			}
			continue
		}
		coded = coded[len("before"):]
		if 3*len(coded) > len(c.value) {
			t.Errorf("%s: %d bytes of %d", c.name, len(coded), len(c.value))
		}
		var d Decoder
		q, v, err := d.AppendCell(nil, nil, coded)
		if err != nil || string(q) != c.qualifier || string(v) != c.value {
			t.Errorf("%s: came back as %q %q, %v", c.name, q, v, err)
		}
		if _, _, err := d.AppendCell(nil, nil, coded[:1]); err == nil {
			t.Errorf("%s: the first byte alone is no error", c.name)
		}
	}
}

func BenchmarkMetaCell(b *testing.B) {
	tsuid := make([]byte, 45)
	document := schema.AppendNewTSMeta(nil, tsuid, 1_356_998_400)
	var e Encoder
	var dst []byte
	b.ReportAllocs()
	for range b.N {
		document = schema.AppendNewTSMeta(document[:0], tsuid, 1_356_998_400)
		dst, _ = e.Append(dst[:0], schema.MetaQualifier(), document)
	}
}

// FuzzMetaCell: coding and decoding return the original, and what can be decoded is what coding
// makes.
func FuzzMetaCell(f *testing.F) {
	f.Add(schema.MetaQualifier(), schema.AppendNewTSMeta(nil, []byte{0, 0, 1}, 1_356_998_400), []byte{formNewTSMeta, 1, 0, 0, 1})
	f.Fuzz(func(t *testing.T, qualifier, value, coded []byte) {
		if cell, ok := appendMetaCell(nil, qualifier, value); ok {
			q, v, err := parseMetaCell(nil, nil, cell)
			if err != nil || string(q) != string(qualifier) || string(v) != string(value) {
				t.Fatalf("%q came back as %q, %v", value, v, err)
			}
		}
		if len(coded) == 0 || coded[0] != formNewTSMeta {
			return
		}
		q, v, err := parseMetaCell(nil, nil, coded)
		if err != nil {
			return
		}
		if again, ok := appendMetaCell(nil, q, v); !ok {
			t.Fatalf("%q is not coded again", v)
		} else if _, w, err := parseMetaCell(nil, nil, again); err != nil || string(w) != string(v) {
			t.Fatalf("%q became %q, %v", v, w, err)
		}
	})
}
