package fsck

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// A Finding is what is wrong with a row, of one kind.
type Finding struct {
	Kind  Kind   `json:"kind"`
	Table string `json:"table"`
	Key   string `json:"key"`           // hexadecimal
	Row   string `json:"row,omitempty"` // for people: the series and the hour
	Count int    `json:"count"`         // how often it is in the row
	Text  string `json:"text"`          // what it is, of the first
	// Mended means that it is gone. Otherwise Left tells why it is not, if it was to be.
	Mended bool   `json:"mended,omitempty"`
	Left   string `json:"left,omitempty"`
}

// String is a line for people.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", f.Kind, f.Table, f.Key)
	if f.Row != "" {
		fmt.Fprintf(&b, " (%s)", f.Row)
	}
	fmt.Fprintf(&b, ": %s", f.Text)
	if f.Count > 1 {
		fmt.Fprintf(&b, ", and %d more", f.Count-1)
	}
	switch {
	case f.Mended:
		b.WriteString(": mended")
	case f.Left != "":
		fmt.Fprintf(&b, ": not mended: %s", f.Left)
	}
	return b.String()
}

// findings are those of one row, one for each kind.
type findings struct {
	table string
	key   []byte
	list  []Finding
}

// add adds what is wrong, of a kind. Its text is made for the first of the kind alone.
func (f *findings) add(k Kind, count int, format string, args ...any) {
	i := slices.IndexFunc(f.list, func(o Finding) bool { return o.Kind == k })
	if i < 0 {
		f.list = append(f.list, Finding{Kind: k, Table: f.table, Key: hex.EncodeToString(f.key), Text: fmt.Sprintf(format, args...)})
		i = len(f.list) - 1
	}
	f.list[i].Count += count
}

// has reports whether there is a finding of a kind.
func (f *findings) has(k Kind) bool {
	return slices.ContainsFunc(f.list, func(o Finding) bool { return o.Kind == k })
}

// hasAny reports whether there is a finding of one of some kinds that is to be mended.
func (f *findings) hasAny(fix map[Kind]bool, of ...Kind) bool {
	return slices.ContainsFunc(of, func(k Kind) bool { return fix[k] && f.has(k) })
}

// mendable reports whether one of the findings is to be mended.
func (f *findings) mendable(fix map[Kind]bool) bool {
	return slices.ContainsFunc(f.list, func(o Finding) bool { return fix[o.Kind] })
}

// describe notes what the row is.
func (f *findings) describe(text string) {
	for i := range f.list {
		f.list[i].Row = text
	}
}

// A Tally counts findings by their kinds.
type Tally map[Kind]*Counts

// Counts are those of a kind.
type Counts struct {
	Rows   int64 `json:"rows"`
	Found  int64 `json:"found"`
	Mended int64 `json:"mended"` // of Found
}

// add counts findings.
func (t Tally) add(list []Finding) {
	for _, f := range list {
		c := t[f.Kind]
		if c == nil {
			c = &Counts{}
			t[f.Kind] = c
		}
		c.Rows++
		c.Found += int64(f.Count)
		if f.Mended {
			c.Mended += int64(f.Count)
		}
	}
}

// Errors returns how many findings are no notes.
func (t Tally) Errors() (n int64) {
	for k, c := range t {
		if !infoOf(k).Note {
			n += c.Found
		}
	}
	return n
}

// All returns how many findings there are, and how many of them are mended.
func (t Tally) All() (found, mended int64) {
	for _, c := range t {
		found, mended = found+c.Found, mended+c.Mended
	}
	return found, mended
}

// String has a line for each kind that was found.
func (t Tally) String() string {
	found := make([]Kind, 0, len(t))
	for k := range t {
		found = append(found, k)
	}
	slices.SortFunc(found, func(a, b Kind) int { return cmp.Compare(place(a), place(b)) })
	var b strings.Builder
	for _, k := range found {
		c, info := t[k], infoOf(k)
		fmt.Fprintf(&b, "%-16s %d in %d rows, %d mended", k, c.Found, c.Rows, c.Mended)
		if info.Note {
			b.WriteString(" (a note)")
		}
		fmt.Fprintf(&b, ": %s\n", info.Text)
	}
	return b.String()
}

func place(k Kind) int {
	return slices.IndexFunc(kinds, func(info KindInfo) bool { return info.Kind == k })
}
