package javaregexp

import (
	"slices"
	"strings"
	"unicode"
)

// property reads \pX, \p{Name} and \p{kind=Name}.
func (p *parser) property(negated bool) (charSet, error) {
	next := p.at + 3
	if next > len(p.src) {
		return nil, p.refuse("property without a name")
	}
	name := string(p.src[p.at+2 : next])
	if name == "{" {
		end := slices.Index(p.src[next:], '}')
		if end < 0 {
			return nil, p.refuse("property without a closing brace")
		}
		name = string(p.src[next : next+end])
		next += end + 1
	}
	set := p.propertySet(name)
	if set == nil {
		return nil, p.refuse(`the property \p{%.30s} is not supported`, name)
	}
	p.at = next
	if negated {
		set = set.complement()
	}
	return set, nil
}

// propertySet returns the characters of a property, nil for an unknown one.
func (p *parser) propertySet(name string) charSet {
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
func (p *parser) posixSet(name string) charSet {
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
func (p *parser) unicodeProperty(name string) charSet {
	tables, categories := unicode.Properties, func(names ...string) charSet {
		var set charSet
		for _, n := range names {
			set = set.union(tableSet(unicode.Categories[n]))
		}
		return set
	}
	alphabetic := func() charSet { return categories("L", "Nl").union(tableSet(tables["Other_Alphabetic"])) }
	spaces := func() charSet { return tableSet(unicode.White_Space) }
	switch strings.ToUpper(name) {
	case "ALPHABETIC":
		return alphabetic()
	case "LETTER":
		return categories("L")
	case "IDEOGRAPHIC":
		return tableSet(unicode.Ideographic)
	case "LOWERCASE", "UPPERCASE":
		lower := categories("Ll").union(tableSet(unicode.Other_Lowercase))
		upper := categories("Lu").union(tableSet(unicode.Other_Uppercase))
		switch {
		case p.flags.fold:
			return lower.union(upper).union(categories("Lt"))
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
		return categories("Nd").union(tableSet(unicode.Hex_Digit))
	case "ASSIGNED":
		return unassigned().complement()
	case "NONCHARACTER_CODE_POINT", "NONCHARACTERCODEPOINT":
		return tableSet(unicode.Noncharacter_Code_Point)
	case "DIGIT":
		return categories("Nd")
	case "ALNUM":
		return alphabetic().union(categories("Nd"))
	case "BLANK":
		return categories("Zs").union(charSet{{'\t', '\t'}})
	case "GRAPH":
		return spaces().union(categories("Zs", "Zl", "Zp", "Cc", "Cs")).union(unassigned()).complement()
	case "PRINT":
		return p.unicodeProperty("GRAPH").union(p.unicodeProperty("BLANK")).intersect(categories("Cc").complement())
	case "WORD":
		return alphabetic().union(categories("M", "Nd", "Pc")).union(tableSet(unicode.Join_Control))
	case "JOIN_CONTROL", "JOINCONTROL":
		return tableSet(unicode.Join_Control)
	}
	return nil
}

// unicodeEscapedSet is what \d and its like stand for with the flag U; nil for the others.
func unicodeEscapedSet(c rune) charSet {
	name, ok := map[rune]string{'d': "DIGIT", 'w': "WORD", 's': "WHITE_SPACE"}[unicode.ToLower(c)]
	if !ok {
		return nil
	}
	set := new(parser).unicodeProperty(name)
	if unicode.IsUpper(c) {
		return set.complement()
	}
	return set
}

// unassigned are the code points without a character.
func unassigned() charSet {
	var set charSet
	for _, name := range []string{"L", "M", "N", "P", "S", "Z", "Cc", "Cf", "Co", "Cs"} {
		set = set.union(tableSet(unicode.Categories[name]))
	}
	return set.complement()
}

// scriptSet is a script by its name; those of four letters are not known.
func scriptSet(name string) charSet {
	for script, table := range unicode.Scripts {
		if strings.EqualFold(script, name) {
			return tableSet(table)
		}
	}
	return nil
}

// javaSet is \p{javaX}, which is a method of java.lang.Character.
func (p *parser) javaSet(name string) charSet {
	switch name {
	case "LowerCase", "UpperCase", "TitleCase":
		return p.unicodeProperty(name[:len(name)-4] + "case")
	case "Alphabetic", "Ideographic", "Digit", "Letter":
		return p.unicodeProperty(name)
	case "Defined":
		return p.unicodeProperty("ASSIGNED")
	case "LetterOrDigit":
		return p.unicodeProperty("LETTER").union(p.unicodeProperty("DIGIT"))
	case "SpaceChar":
		return tableSet(unicode.Z)
	case "Whitespace":
		fixed := charSet{{0xA0, 0xA0}, {0x2007, 0x2007}, {0x202F, 0x202F}}
		return tableSet(unicode.Z).intersect(fixed.complement()).union(charSet{{'\t', '\r'}, {0x1C, 0x1F}})
	case "ISOControl":
		return tableSet(unicode.Cc)
	}
	return nil
}

// namedSet is a POSIX class of ASCII, a general category or a method of Java.
func (p *parser) namedSet(name string) charSet {
	if java, ok := strings.CutPrefix(name, "java"); ok {
		return p.javaSet(java)
	}
	if p.flags.fold {
		switch name {
		case "Lower", "Upper":
			name = "Alpha"
		case "Lu", "Ll", "Lt":
			return categorySet("Lu").union(categorySet("Ll")).union(categorySet("Lt"))
		}
	}
	switch name {
	case "all", "ALL":
		return charSet{}.complement()
	case "L1":
		return charSet{{0, 0xFF}}
	case "LD":
		return categorySet("L").union(categorySet("Nd"))
	case "LC":
		return categorySet("Lu").union(categorySet("Ll")).union(categorySet("Lt"))
	case "Cn":
		return unassigned()
	case "C":
		return categorySet("C").union(unassigned())
	case "Lower":
		return charSet{{'a', 'z'}}
	case "Upper":
		return charSet{{'A', 'Z'}}
	case "ASCII":
		return charSet{{0, 0x7F}}
	case "Alpha":
		return charSet{{'a', 'z'}, {'A', 'Z'}}
	case "Digit":
		return charSet{{'0', '9'}}
	case "Alnum":
		return charSet{{'0', '9'}, {'a', 'z'}, {'A', 'Z'}}
	case "Punct":
		return charSet{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}
	case "Graph":
		return charSet{{'!', '~'}}
	case "Print":
		return charSet{{' ', '~'}}
	case "Blank":
		return charSet{{' ', ' '}, {'\t', '\t'}}
	case "Cntrl":
		return charSet{{0, 0x1F}, {0x7F, 0x7F}}
	case "XDigit":
		return charSet{{'0', '9'}, {'a', 'f'}, {'A', 'F'}}
	case "Space":
		return charSet{{'\t', '\r'}, {' ', ' '}}
	}
	return categorySet(name)
}

// categorySet returns a general category: one or two letters.
func categorySet(name string) charSet {
	table := unicode.Categories[name]
	if table == nil || len(name) > 2 || name == "LC" {
		return nil
	}
	return tableSet(table)
}

// tableSet returns the characters of a table, nil without one.
func tableSet(table *unicode.RangeTable) charSet {
	if table == nil {
		return nil
	}
	var set charSet
	for _, r := range table.R16 {
		set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		set = appendStride(set, rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return set
}

func appendStride(set charSet, lo, hi, stride rune) charSet {
	if stride == 1 {
		return append(set, [2]rune{lo, hi})
	}
	for c := lo; c <= hi; c += stride {
		set = append(set, [2]rune{c, c})
	}
	return set
}
