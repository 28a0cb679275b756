package tree

import (
	"cmp"
	"slices"
)

// A nameRange is names from first on, up to end, which is no longer one of them; an empty end is
// the end of all names.
type nameRange struct{ first, end string }

// ranges returns ranges that contain every name with which a path may continue in these states.
// They are sorted and do not overlap. A name in a tree may contain dots; it then counts as several
// elements, so a literal element also includes the names that begin with it and a dot.
func (g *Glob) ranges(s states) []nameRange {
	all := []nameRange{prefixRange(".")} // a dot at the beginning counts for nothing
	for i := range g.elements {
		if !g.at(s, i) {
			continue
		}
		if g.elements[i].any {
			return []nameRange{{}}
		}
		for _, v := range g.elements[i].variants {
			switch {
			case len(v.tokens) == 0:
				all = append(all, nameRange{v.prefix, v.prefix + "\x00"}, prefixRange(v.prefix+"."))
			case v.prefix == "":
				return []nameRange{{}}
			default:
				all = append(all, prefixRange(v.prefix))
			}
		}
	}
	return union(all)
}

// prefixRange returns the names that begin with a prefix.
func prefixRange(prefix string) nameRange {
	end := []byte(prefix)
	for len(end) > 0 && end[len(end)-1] == 0xFF {
		end = end[:len(end)-1]
	}
	if len(end) > 0 {
		end[len(end)-1]++
	}
	return nameRange{prefix, string(end)}
}

func union(ranges []nameRange) []nameRange {
	slices.SortFunc(ranges, func(a, b nameRange) int { return cmp.Compare(a.first, b.first) })
	merged := ranges[:1]
	for _, r := range ranges[1:] {
		last := &merged[len(merged)-1]
		switch {
		case last.end != "" && r.first > last.end:
			merged = append(merged, r)
		case last.end != "" && (r.end == "" || r.end > last.end):
			last.end = r.end
		}
	}
	return merged
}
