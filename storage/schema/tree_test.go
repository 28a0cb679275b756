package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestTreeRows runs the data file about tsdb-tree:
//
//	hash     names -> their hashes
//	row      tree and names, quoted -> the row key
//	parse    row keys -> what they are
//	columns  -> the columns
//	column   columns -> what they are
//	tree, rule, branch, leaf   a document -> its fields; where printing it again gives other bytes, those
//	edit     fields to change and a stored rule or tree -> the document edited
func TestTreeRows(t *testing.T) {
	datadriven.RunTest(t, "testdata/tree_rows", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "hash":
			return eachLine(d, func(line string) string { return fmt.Sprintf("%08X", NameHash(unquote(t, line))) })
		case "row":
			return eachLine(d, func(line string) string { return treeRow(t, line) })
		case "parse":
			return eachLine(d, func(line string) string { return describeTreeRow(parseHex(t, line)) })
		case "columns":
			return treeColumns()
		case "column":
			return eachLine(d, func(line string) string { return describeTreeColumn([]byte(unquote(t, line))) })
		case "tree":
			v, err := ParseTree([]byte(d.Input))
			return describeDocument(d.Input, v, v.AppendTo(nil), err)
		case "rule":
			v, err := ParseTreeRule([]byte(d.Input))
			return describeDocument(d.Input, v, v.AppendTo(nil), err)
		case "branch":
			v, err := ParseBranch([]byte(d.Input))
			return describeDocument(d.Input, v, v.AppendTo(nil), err)
		case "leaf":
			v, err := ParseLeaf([]byte(d.Input))
			return describeDocument(d.Input, v, v.AppendTo(nil), err)
		case "edit":
			return editDocument(t, d)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func unquote(t *testing.T, s string) string {
	t.Helper()
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	text, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	return text
}

func treeRow(t *testing.T, line string) string {
	t.Helper()
	words := strings.Fields(line)
	id, err := strconv.ParseUint(words[0], 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	key := BranchRow(uint16(id), words[1:]...)
	if again, ok := ParseBranchRow(key); !ok || again.Tree != uint16(id) || len(again.Hashes) != len(words)-1 {
		t.Errorf("%X parses as %v", key, again)
	}
	return fmt.Sprintf("%X", key)
}

func describeTreeRow(key []byte) string {
	k, ok := ParseBranchRow(key)
	if !ok {
		return "no branch"
	}
	return fmt.Sprintf("tree %d %08X", k.Tree, k.Hashes)
}

func treeColumns() string {
	tsuid := []byte{1, 2, 3}
	return fmt.Sprintf("%s %s %s\n%q\n%X %q\n%X %q\n", TreeQualifier(), BranchQualifier(), RuleQualifier(12, 0), LeafQualifier("user"),
		CollisionRow(1), CollisionQualifier(tsuid), NotMatchedRow(258), NotMatchedQualifier(tsuid))
}

func describeTreeColumn(q []byte) string {
	if level, order, ok := ParseRuleQualifier(q); ok {
		return fmt.Sprintf("rule %d:%d", level, order)
	}
	if hash, ok := ParseLeafQualifier(q); ok {
		return fmt.Sprintf("leaf %08X", hash)
	}
	if tsuid, ok := ParseFailureQualifier(q); ok {
		return fmt.Sprintf("failure of %X", tsuid)
	}
	return "something else"
}

// editDocument changes fields of a document. They stand on a line of their own, in the JSON of the
// type.
func editDocument(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var edited []byte
	var err error
	first, document, _ := strings.Cut(d.Input, "\n")
	changes, stored := []byte(first), []byte(document)
	if d.CmdArgs[0].Key == "tree" {
		v, parsed := ParseTree(stored)
		if parsed == nil {
			parsed = json.Unmarshal(changes, &v)
		}
		if err = parsed; err == nil {
			edited, err = EditTree(stored, v)
		}
	} else {
		v, parsed := ParseTreeRule(stored)
		if parsed == nil {
			parsed = json.Unmarshal(changes, &v)
		}
		if err = parsed; err == nil {
			edited, err = EditTreeRule(stored, v)
		}
	}
	if err != nil {
		return err.Error()
	}
	return string(edited)
}

// A document that parses is printed so that it parses to the same; editing a document with its own
// fields leaves it as it is, or as Jackson writes it.
// A string is printed in one way, whether a character of it needs an escape or not.
func TestLeafOfAnyCharacter(t *testing.T) {
	for c := range rune(0x100) {
		name := "a" + string(c) + "b"
		leaf := Leaf{DisplayName: name, TSUID: []byte{0, 0xAB, 1}}
		printed := leaf.AppendTo(nil)
		var read struct{ DisplayName, TSUID string }
		if err := json.Unmarshal(printed, &read); err != nil || read.DisplayName != name || read.TSUID != "00AB01" {
			t.Errorf("leaf of %q is %s, read as %q, %v", name, printed, read, err)
		}
		if escaped := bytes.ContainsRune(printed, '\\'); escaped != (c < ' ' || c == '"' || c == '\\') {
			t.Errorf("leaf of %q is %s", name, printed)
		}
	}
}

func FuzzTreeDocuments(f *testing.F) {
	for _, s := range []string{
		`{"name":"Test Tree","description":"My Description","notes":"Details","strictMatch":false,"created":0,"enabled":true,"storeFailures":false}`,
		`{"type":"TAGK","field":"host","regex":"","separator":"\\.","level":0,"order":0,"customField":"","regexGroupIdx":0,"displayFormat":"","treeId":1}`,
		`{"path":{"0":"ROOT","1":"sys"},"displayName":"sys"}`, `{"displayName":"user","tsuid":"0102030405"}`, `{"displayName":"u","tsuid":"010"}`,
		`{"path":{"0":"ROOT"},"displayName":"ROOT"}`, `{"path":{"0":"a","0":"b"},"displayName":"b"}`, `{"displayName":"a\u0041","tsuid":"01"}`, `{"displayName":"é\u0001\"","tsuid":"0102030405"}`, `{"level":"1","x":[{}],"level":2}`, `{}`, `[`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := ParseTreeRule(b); err == nil {
			again, err := ParseTreeRule(v.AppendTo(nil))
			if err != nil || again != v {
				t.Errorf("%+v prints to %+v, %v", v, again, err)
			}
			edited, err := EditTreeRule(b, v)
			if err != nil {
				t.Fatalf("EditTreeRule(%s): %v", b, err)
			}
			if again, err := ParseTreeRule(edited); err != nil || again != v {
				t.Errorf("%+v is edited to %+v, %v", v, again, err)
			}
			if twice, err := EditTreeRule(edited, v); err != nil || !bytes.Equal(twice, edited) {
				t.Errorf("edited again, %s becomes %s, %v", edited, twice, err)
			}
		}
		if v, err := ParseTree(b); err == nil {
			if again, err := ParseTree(v.AppendTo(nil)); err != nil || again != v {
				t.Errorf("%+v prints to %+v, %v", v, again, err)
			}
		}
		if fast, ok := plainLeaf(b); ok {
			if slow, err := readLeaf(b); err != nil || fmt.Sprint(fast) != fmt.Sprint(slow) {
				t.Errorf("leaf %s: read fast as %v, else as %v, %v", b, fast, slow, err)
			}
		}
		if fast, ok := plainBranch(b); ok {
			if slow, err := readBranch(b); err != nil || fmt.Sprint(fast) != fmt.Sprint(slow) {
				t.Errorf("branch %s: read fast as %v, else as %v, %v", b, fast, slow, err)
			}
		}
		if v, err := ParseBranch(b); err == nil {
			if again, err := ParseBranch(v.AppendTo(nil)); err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
				t.Errorf("%+v prints to %+v, %v", v, again, err)
			}
		}
		if v, err := ParseLeaf(b); err == nil {
			if again, err := ParseLeaf(v.AppendTo(nil)); err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
				t.Errorf("%+v prints to %+v, %v", v, again, err)
			}
		}
	})
}
