package schema

import (
	"bytes"
	"encoding/hex"
	"strconv"
	"unicode/utf8"
)

// Documents of branches and leaves are nearly always as a TSD and tsdbridge print them, with names
// that need no escape. A start reads millions of them; what is any other way the JSON reader reads.

// cutName cuts a string off that follows a prefix, if it needs no escape, and the quote that ends
// it.
func cutName(raw []byte, prefix string) (name, rest []byte, ok bool) {
	if len(raw) < len(prefix) || string(raw[:len(prefix)]) != prefix {
		return nil, nil, false
	}
	raw = raw[len(prefix):]
	end := bytes.IndexByte(raw, '"')
	if end <= 0 {
		return nil, nil, false
	}
	for _, c := range raw[:end] {
		if c < ' ' || c == '\\' {
			return nil, nil, false
		}
	}
	return raw[:end], raw[end+1:], utf8.Valid(raw[:end])
}

// plainLeaf reads the document of a leaf.
func plainLeaf(raw []byte) (l Leaf, ok bool) {
	name, rest, ok := cutName(raw, `{"displayName":"`)
	if !ok {
		return Leaf{}, false
	}
	tsuid, rest, ok := cutName(rest, `,"tsuid":"`)
	if !ok || string(rest) != "}" {
		return Leaf{}, false
	}
	l = Leaf{DisplayName: string(name), TSUID: make([]byte, len(tsuid)/2)}
	_, err := hex.Decode(l.TSUID, tsuid)
	return l, err == nil
}

// NameOfBranch reads the name alone from the usual document of a branch, in the time that the name
// takes. ok is false for other documents, and where the name is not the one that the row was made for.
func NameOfBranch(row, raw []byte) (name string, ok bool) {
	const begin, end, closing = `{"path":{"0":"`, `"},"displayName":"`, `"}`
	if !bytes.HasPrefix(raw, []byte(begin)) || !bytes.HasSuffix(raw, []byte(closing)) || Depth(row) == 0 {
		return "", false
	}
	raw = raw[:len(raw)-len(closing)]
	at := bytes.LastIndexByte(raw, '"') + 1
	shown := raw[at:]
	if len(shown) == 0 || !bytes.HasSuffix(raw[:at], []byte(end)) || bytes.IndexByte(shown, '\\') >= 0 || !utf8.Valid(shown) {
		return "", false
	}
	for _, c := range shown {
		if c < ' ' {
			return "", false
		}
	}
	name = string(shown)
	return name, NameHash(name) == HashAt(row, Depth(row))
}

// plainBranch reads the document of a branch.
func plainBranch(raw []byte) (b Branch, ok bool) {
	for prefix := `{"path":{"`; len(b.Path) == 0 || len(raw) == 0 || raw[0] != '}'; prefix = `,"` {
		var name []byte
		if name, raw, ok = cutName(raw, prefix+strconv.Itoa(len(b.Path))+`":"`); !ok {
			return Branch{}, false
		}
		b.Path = append(b.Path, string(name))
	}
	name, rest, ok := cutName(raw, `},"displayName":"`)
	b.DisplayName = string(name)
	return b, ok && string(rest) == "}"
}
