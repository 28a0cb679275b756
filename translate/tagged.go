package translate

import (
	"regexp"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// The grammar of tagged names is carbon's (carbon 1.1.10, util.py, TaggedSeries):
// `name;key=value;key2=value2`. A key has at least one character and none of ";!^="; a value has at
// least one character, no ";", and does not begin with "~"; the first "=" ends the key. A tag
// called name gives way to the metric name. Leading tildes of the whole are stripped.
//
// We differ in two points. A name that begins with "~" may lack the metric name, and a key may be
// empty there; carbon takes neither. And a tag called __name__ does not parse, since labels have
// one such.
const (
	tilde        = "~"
	tagSeparator = ";"
	nameTag      = "name"
)

// readTagged reads a name's metric name and tags; false if they do not parse. There may be several
// tags of one key.
func readTagged(path string) (name string, tags []storage.Tag, ok bool) {
	body := strings.TrimLeft(path, tilde)
	escaped := body != path
	name, rest, tagged := strings.Cut(body, tagSeparator)
	if name == "" && !escaped {
		return "", nil, false
	}
	for tagged {
		var segment string
		segment, rest, tagged = strings.Cut(rest, tagSeparator)
		key, value, ok := readTag(segment, escaped)
		if !ok {
			return "", nil, false
		}
		if key != nameTag {
			tags = append(tags, storage.Tag{Key: key, Value: value})
		}
	}
	if len(tags) == 0 {
		name = canonical(name)
	}
	if escaped {
		return resolveAll(name, tags)
	}
	return name, tags, true
}

// readTag reads one `key=value`.
func readTag(segment string, escaped bool) (key, value string, ok bool) {
	key, value, ok = strings.Cut(segment, "=")
	if key == "" && !escaped {
		return "", "", false
	}
	return key, value, ok && checkTag(key, value)
}

func checkTag(key, value string) bool {
	return key != nameLabel && !strings.ContainsAny(key, ";!^=") &&
		value != "" && !strings.HasPrefix(value, tilde) && !strings.Contains(value, tagSeparator)
}

// isOpenMetrics reports whether carbon reads a name as `name{key="value",key2="value2"}`.
func isOpenMetrics(path string) bool {
	return strings.HasSuffix(path, `"}`) && strings.Contains(path, "{")
}

// openMetricsTag is one tag and what follows it. That a colon may is a slip of carbon's.
var openMetricsTag = regexp.MustCompile(`^([^=]+)="((?:\\["\\]|[^"\\])+)"(?::?,|$)`)

var openMetricsValue = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// respell turns a name in the OpenMetrics spelling into carbon's own, under which carbon keeps the
// series. What comes of it may not parse: carbon does not look for a ";" in the metric name. What
// does not parse itself stays as it is.
func respell(path string) string {
	name, rest, _ := strings.Cut(strings.TrimSuffix(path, "}"), "{")
	if strings.TrimLeft(name, tilde) == "" || strings.Contains(rest, "{") {
		return path
	}
	var b strings.Builder
	b.WriteString(name)
	for rest != "" {
		m := openMetricsTag.FindStringSubmatch(rest)
		if m == nil {
			return path
		}
		key, value := m[1], openMetricsValue.Replace(m[2])
		if !checkTag(key, value) {
			return path
		}
		b.WriteString(tagSeparator + key + "=" + value)
		rest = rest[len(m[0]):]
	}
	return b.String()
}
