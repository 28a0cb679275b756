package schema

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/storage"
)

// TestUIDs runs the data file about table tsdb-uid:
//
//	name      Go string literals -> row keys, and back
//	text      row keys -> Go string literals, and back
//	uid       id and width a line -> UID
//	counter   hex a line -> number, and back
//	columns   -> row, families and qualifiers
func TestUIDs(t *testing.T) {
	datadriven.RunTest(t, "testdata/uids", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "name":
			return eachLine(d, func(line string) string { return encodeName(t, line) })
		case "text":
			return eachLine(d, func(line string) string {
				text := DecodeName(parseHex(t, line))
				again, err := EncodeName(text)
				if err != nil || !bytes.Equal(again, parseHex(t, line)) {
					return fmt.Sprintf("%q, again %X: %v", text, again, err)
				}
				return fmt.Sprintf("%q", text)
			})
		case "uid":
			return eachLine(d, func(line string) string { return encodeUID(t, line) })
		case "counter":
			return eachLine(d, func(line string) string {
				n, err := DecodeCounter(parseHex(t, line))
				if err != nil {
					return fmt.Sprintf("error: %v", err)
				}
				return fmt.Sprintf("%d %X", n, EncodeCounter(n))
			})
		case "columns":
			return columns()
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func encodeName(t *testing.T, line string) string {
	t.Helper()
	name, err := strconv.Unquote(line)
	if err != nil {
		t.Fatalf("name %s: %v", line, err)
	}
	b, err := EncodeName(name)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	if again := DecodeName(b); again != name {
		return fmt.Sprintf("%X, again %q", b, again)
	}
	return fmt.Sprintf("%X", b)
}

func encodeUID(t *testing.T, line string) string {
	t.Helper()
	var id int64
	var width int
	if _, err := fmt.Sscan(line, &id, &width); err != nil {
		t.Fatalf("id and width %q: %v", line, err)
	}
	uid, err := EncodeUID(id, width)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	return fmt.Sprintf("%X", uid)
}

func columns() string {
	var out strings.Builder
	for _, k := range storage.NameKinds() {
		fmt.Fprintf(&out, "%s: row %X %s:%s, %s:%s, %s:%s %s, width %d\n", k, MaxIDRow(), FamilyID, UIDQualifier(k),
			FamilyName, UIDQualifier(k), FamilyName, UIDMetaQualifier(k), strings.ToUpper(k.String()), Layout{2, 4, 5, 0, 1}.Width(k))
	}
	fmt.Fprintf(&out, "tsdb-meta: %s:%s %s:%s\ntsdb: %s\n", FamilyMeta, CounterQualifier(), FamilyMeta, MetaQualifier(), FamilyData)
	return out.String()
}

func TestEncodeNameEndsAtTheLongestRowKey(t *testing.T) {
	longest := strings.Repeat("é", 32767)
	if b, err := EncodeName(longest); err != nil || len(b) != 32767 {
		t.Errorf("EncodeName of 32767 characters: %d bytes, %v", len(b), err)
	}
	if b, err := EncodeName(longest + "x"); err == nil {
		t.Errorf("EncodeName of 32768 characters: %d bytes, want an error", len(b))
	}
}

func FuzzEncodeName(f *testing.F) {
	for _, s := range []string{"sys.cpu.user", "é", "中", "\x00", "\xFF", "a\uFFFDb", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b, err := EncodeName(s)
		if err == nil && DecodeName(b) != s {
			t.Errorf("%q becomes %q", s, DecodeName(b))
		}
		text := DecodeName([]byte(s))
		if again, err := EncodeName(text); err == nil && string(again) != s {
			t.Errorf("row %X becomes %X", s, again)
		} else if err != nil && s != "" && !strings.Contains(s, "\x00") && len(s) <= maxNameLength {
			t.Errorf("row %X: %v", s, err)
		}
	})
}
