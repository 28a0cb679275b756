package glob

import (
	"cmp"
	"slices"
)

// A Range is names from First on, up to End, which is no longer one of them; an empty End is
// the end of all names.
type Range struct{ First, End string }

// Ranges returns ranges that contain every name with which a path may continue in these states.
// They are sorted and do not overlap. A name in a tree may contain dots; it then counts as several
// elements, so a literal element also includes the names that begin with it and a dot.
func (g *Pattern) Ranges(s States) []Range {
	all := []Range{prefixRange(".")} // a dot at the beginning counts for nothing
	for i := range g.elements {
		if !g.at(s, i) {
			continue
		}
		if g.elements[i].any {
			return []Range{{}}
		}
		for _, v := range g.elements[i].variants {
			switch {
			case len(v.tokens) == 0:
				all = append(all, Range{v.prefix, v.prefix + "\x00"}, prefixRange(v.prefix+"."))
			case v.prefix == "":
				return []Range{{}}
			default:
				all = append(all, prefixRange(v.prefix))
			}
		}
	}
	return union(all)
}

// prefixRange returns the names that begin with a prefix.
func prefixRange(prefix string) Range {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xFF {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return Range{prefix, string(end)}
}

func union(ranges []Range) []Range {
	slices.SortFunc(ranges, func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	merged := ranges[:1]
	for _, r := range ranges[1:] {
		last := &merged[len(merged)-1]
		switch {
		case last.End != "" && r.First > last.End:
			merged = append(merged, r)
		case last.End != "" && (r.End == "" || r.End > last.End):
			last.End = r.End
		}
	}
	return merged
}
