package schema

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// A Branch is the document of a branch. Path begins with RootName and ends with DisplayName, which
// is RootName for the root.
type Branch struct {
	Path        []string
	DisplayName string
}

// NewBranch returns the branch under these names.
func NewBranch(names ...string) Branch {
	path := append([]string{RootName}, names...)
	return Branch{Path: path, DisplayName: path[len(path)-1]}
}

// AppendTo appends the document as OpenTSDB 2.4 Branch.toStorageJson prints it.
func (b Branch) AppendTo(dst []byte) []byte {
	dst = append(dst, `{"path":{`...)
	for depth, name := range b.Path {
		if depth > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(append(dst, '"'), int64(depth), 10)
		dst = appendField(dst, `":`, name)
	}
	return append(appendField(dst, `},"displayName":`, b.DisplayName), '}')
}

// ParseBranch reads a stored document. Depths that are missing are closed up.
func ParseBranch(raw []byte) (Branch, error) {
	if b, ok := plainBranch(raw); ok {
		return b, nil
	}
	return readBranch(raw)
}

func readBranch(raw []byte) (Branch, error) {
	f := parseFields(raw)
	b := Branch{DisplayName: f.scalar("displayName")}
	byDepth := map[int]string{}
	if path := f.members["path"]; len(path) > 0 {
		f.fail("path", json.Unmarshal(path, &byDepth))
	}
	for _, depth := range slices.Sorted(maps.Keys(byDepth)) {
		b.Path = append(b.Path, byDepth[depth])
	}
	if b.DisplayName == "" {
		f.fail("displayName", errors.New("missing"))
	}
	if f.err != nil {
		return Branch{}, fmt.Errorf("parse branch %.100q: %w", raw, f.err)
	}
	return b, nil
}

// A Leaf is the document of a leaf: the name of a series on its branch.
type Leaf struct {
	DisplayName string
	TSUID       []byte
}

// AppendTo appends the document as OpenTSDB 2.4 Leaf.toStorageJson prints it.
func (l Leaf) AppendTo(dst []byte) []byte {
	dst = appendField(dst, `{"displayName":`, l.DisplayName)
	dst = appendHex(append(dst, `,"tsuid":"`...), l.TSUID)
	return append(dst, `"}`...)
}

// MaxSize bounds the length of the document of a name that needs no escapes.
func (l Leaf) MaxSize() int {
	return len(`{"displayName":"","tsuid":""}`) + len(l.DisplayName) + 2*len(l.TSUID)
}

// ParseLeaf reads a stored document.
func ParseLeaf(raw []byte) (Leaf, error) {
	if l, ok := plainLeaf(raw); ok {
		return l, nil
	}
	return readLeaf(raw)
}

func readLeaf(raw []byte) (Leaf, error) {
	f := parseFields(raw)
	l := Leaf{DisplayName: f.scalar("displayName")}
	tsuid, err := hex.DecodeString(f.scalar("tsuid"))
	f.fail("tsuid", err)
	if l.TSUID = tsuid; len(tsuid) == 0 {
		f.fail("tsuid", errors.New("missing"))
	}
	if l.DisplayName == "" {
		f.fail("displayName", errors.New("missing"))
	}
	if f.err != nil {
		return Leaf{}, fmt.Errorf("parse leaf %.100q: %w", raw, f.err)
	}
	return l, nil
}
