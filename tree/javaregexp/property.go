package javaregexp

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tsdbridge/tsdbridge/internal/backtrack/pattern"
)

// property reads \pX, \p{Name} and \p{kind=Name}.
func (p *charReader) property(negated bool) (pattern.Set, error) {
	next := p.At + 3
	if next > len(p.Src) {
		return nil, p.refuse("property without a name")
	}
	name := string(p.Src[p.At+2 : next])
	if name == "{" {
		end := slices.Index(p.Src[next:], '}')
		if end < 0 {
			return nil, p.refuse("property without a closing brace")
		}
		name = string(p.Src[next : next+end])
		next += end + 1
	}
	set := p.propertySet(name)
	if set == nil {
		return nil, p.refuse(`the property \p{%.30s} is not supported`, name)
	}
	p.At = next
	if negated {
		set = set.Complement()
	}
	return set, nil
}

// propertySet returns the characters of a property, nil for an unknown one.
func (p *charReader) propertySet(name string) pattern.Set {
	kind, value, both := strings.Cut(name, "=")
	if both {
		switch strings.ToLower(kind) {
		case "sc", "script":
			return scriptSet(value)
		case "gc", "general_category":
			return p.namedSet(value)
		}
		return nil
	}
	if short, ok := strings.CutPrefix(name, "Is"); ok {
		if set := p.unicodeProperty(short); set != nil {
			return set
		}
		if set := p.namedSet(short); set != nil {
			return set
		}
		return scriptSet(short)
	}
	if p.flags.classes {
		if set := p.posixSet(name); set != nil {
			return set
		}
	}
	return p.namedSet(name)
}

// posixSet is a POSIX class over all of Unicode, as the flag U has it.
func (p *charReader) posixSet(name string) pattern.Set {
	switch strings.ToUpper(name) {
	case "ALPHA", "LOWER", "UPPER", "SPACE", "PUNCT", "XDIGIT", "ALNUM", "CNTRL", "DIGIT", "BLANK", "GRAPH", "PRINT":
		of := map[string]string{
			"ALPHA": "ALPHABETIC", "LOWER": "LOWERCASE", "UPPER": "UPPERCASE", "SPACE": "WHITE_SPACE",
			"PUNCT": "PUNCTUATION", "XDIGIT": "HEX_DIGIT", "CNTRL": "CONTROL",
		}
		if long, ok := of[strings.ToUpper(name)]; ok {
			name = long
		}
		return p.unicodeProperty(name)
	}
	return nil
}

// unicodeProperty is a binary property of Unicode that Java knows.
func (p *charReader) unicodeProperty(name string) pattern.Set {
	tables, categories := unicode.Properties, func(names ...string) pattern.Set {
		var set pattern.Set
		for _, n := range names {
			set = set.Union(tableSet(unicode.Categories[n]))
		}
		return set
	}
	alphabetic := func() pattern.Set { return categories("L", "Nl").Union(tableSet(tables["Other_Alphabetic"])) }
	spaces := func() pattern.Set { return tableSet(unicode.White_Space) }
	switch strings.ToUpper(name) {
	case "ALPHABETIC":
		return alphabetic()
	case "LETTER":
		return categories("L")
	case "IDEOGRAPHIC":
		return tableSet(unicode.Ideographic)
	case "LOWERCASE", "UPPERCASE":
		lower := categories("Ll").Union(tableSet(unicode.Other_Lowercase))
		upper := categories("Lu").Union(tableSet(unicode.Other_Uppercase))
		switch {
		case p.flags.fold:
			return lower.Union(upper).Union(categories("Lt"))
		case strings.EqualFold(name, "LOWERCASE"):
			return lower
		}
		return upper
	case "TITLECASE":
		if p.flags.fold {
			return p.unicodeProperty("LOWERCASE")
		}
		return categories("Lt")
	case "WHITE_SPACE", "WHITESPACE":
		return spaces()
	case "CONTROL":
		return categories("Cc")
	case "PUNCTUATION":
		return categories("P")
	case "HEX_DIGIT", "HEXDIGIT":
		return categories("Nd").Union(tableSet(unicode.Hex_Digit))
	case "ASSIGNED":
		return unassigned().Complement()
	case "NONCHARACTER_CODE_POINT", "NONCHARACTERCODEPOINT":
		return tableSet(unicode.Noncharacter_Code_Point)
	case "DIGIT":
		return categories("Nd")
	case "ALNUM":
		return alphabetic().Union(categories("Nd"))
	case "BLANK":
		return categories("Zs").Union(pattern.Set{{'\t', '\t'}})
	case "GRAPH":
		return spaces().Union(categories("Zs", "Zl", "Zp", "Cc", "Cs")).Union(unassigned()).Complement()
	case "PRINT":
		return p.unicodeProperty("GRAPH").Union(p.unicodeProperty("BLANK")).Intersect(categories("Cc").Complement())
	case "WORD":
		return alphabetic().Union(categories("M", "Nd", "Pc")).Union(tableSet(unicode.Join_Control))
	case "JOIN_CONTROL", "JOINCONTROL":
		return tableSet(unicode.Join_Control)
	}
	return nil
}

// unicodeEscapedSet is what \d and its like stand for with the flag U; nil for the others.
func unicodeEscapedSet(c rune) pattern.Set {
	name, ok := map[rune]string{'d': "DIGIT", 'w': "WORD", 's': "WHITE_SPACE"}[unicode.ToLower(c)]
	if !ok {
		return nil
	}
	set := new(parser).unicodeProperty(name)
	if unicode.IsUpper(c) {
		return set.Complement()
	}
	return set
}

// unassigned are the code points without a character.
func unassigned() pattern.Set {
	var set pattern.Set
	for _, name := range []string{"L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co", "Cs"} {
		set = set.Union(tableSet(unicode.Categories[name]))
	}
	return set.Complement()
}

// scriptSet is a script by its name; those of four letters are not known.
func scriptSet(name string) pattern.Set {
	for script, table := range unicode.Scripts {
		if strings.EqualFold(script, name) {
			return tableSet(table)
		}
	}
	return nil
}

// javaSet is \p{javaX}, which is a method of java.lang.Character.
func (p *charReader) javaSet(name string) pattern.Set {
	switch name {
	case "LowerCase", "UpperCase", "TitleCase":
		return p.unicodeProperty(name[:len(name)-4] + "case")
	case "Alphabetic", "Ideographic", "Digit", "Letter":
		return p.unicodeProperty(name)
	case "Defined":
		return p.unicodeProperty("ASSIGNED")
	case "LetterOrDigit":
		return p.unicodeProperty("LETTER").Union(p.unicodeProperty("DIGIT"))
	case "SpaceChar":
		return tableSet(unicode.Z)
	case "Whitespace":
		fixed := pattern.Set{{0xA0, 0xA0}, {0x2007, 0x2007}, {0x202F, 0x202F}}
		return tableSet(unicode.Z).Intersect(fixed.Complement()).Union(pattern.Set{{'\t', '\r'}, {0x1C, 0x1F}})
	case "ISOControl":
		return tableSet(unicode.Cc)
	}
	return nil
}

// namedSet is a POSIX class of ASCII, a general category or a method of Java.
func (p *charReader) namedSet(name string) pattern.Set {
	if java, ok := strings.CutPrefix(name, "java"); ok {
		return p.javaSet(java)
	}
	if p.flags.fold {
		switch name {
		case "Lower", "Upper":
			name = "Alpha"
		case "Lu", "Ll", "Lt":
			return categorySet("Lu").Union(categorySet("Ll")).Union(categorySet("Lt"))
		}
	}
	switch name {
	case "all", "ALL":
		return pattern.Set{}.Complement()
	case "L1":
		return pattern.Set{{0, 0xFF}}
	case "LD":
		return categorySet("L").Union(categorySet("Nd"))
	case "LC":
		return categorySet("Lu").Union(categorySet("Ll")).Union(categorySet("Lt"))
	case "Cn":
		return unassigned()
	case "C":
		return categorySet("C").Union(unassigned())
	case "Lower":
		return pattern.Set{{'a', 'z'}}
	case "Upper":
		return pattern.Set{{'A', 'Z'}}
	case "ASCII":
		return pattern.Set{{0, 0x7F}}
	case "Alpha":
		return pattern.Set{{'a', 'z'}, {'A', 'Z'}}
	case "Digit":
		return pattern.Set{{'0', '9'}}
	case "Alnum":
		return pattern.Set{{'0', '9'}, {'a', 'z'}, {'A', 'Z'}}
	case "Punct":
		return pattern.Set{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}
	case "Graph":
		return pattern.Set{{'!', '~'}}
	case "Print":
		return pattern.Set{{' ', '~'}}
	case "Blank":
		return pattern.Set{{' ', ' '}, {'\t', '\t'}}
	case "Cntrl":
		return pattern.Set{{0, 0x1F}, {0x7F, 0x7F}}
	case "XDigit":
		return pattern.Set{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}
	case "Space":
		return pattern.Set{{'\t', '\r'}, {' ', ' '}}
	}
	return categorySet(name)
}

// categorySet returns a general category: one or two letters.
func categorySet(name string) pattern.Set {
	table := unicode.Categories[name]
	if table == nil || len(name) > 2 || name == "LC" {
		return nil
	}
	return tableSet(table)
}

// tableSet returns the characters of a table, nil without one.
func tableSet(table *unicode.RangeTable) pattern.Set {
	if table == nil {
		return nil
	}
	var set pattern.Set
	for _, r := range table.R16 {
		set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return set
}

func appendStride(set pattern.Set, lo, hi, stride rune) pattern.Set {
	if stride == 1 {
		return append(set, [2]rune{lo, hi})
	}
	for c := lo; c <= hi; c += stride {
		set = append(set, [2]rune{c, c})
	}
	return set
}
