package series

import (
	"errors"
	"regexp"
	"strings"
)

// TagsOf returns the tags that a name carries: those of a tagged name, else the name itself. What
// looks like a call is not parsed.
func TagsOf(name string) map[string]string {
	if looksLikeCall(name) {
		return map[string]string{"name": name}
	}
	if tags, err := ParseTags(name); err == nil {
		return tags
	}
	return map[string]string{"name": name}
}

// looksLikeCall is `^[a-z]+[(].+[)]$` in any case.
func looksLikeCall(name string) bool {
	open := strings.IndexByte(name, '(')
	if open < 1 || len(name) < open+3 || name[len(name)-1] != ')' {
		return false
	}
	for _, c := range name[:open] {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return false
		}
	}
	return !strings.Contains(name, "\n")
}

// ParseTags reads a tagged name in carbon's form, `name;k=v`, or OpenMetrics', `name{k="v"}`, by
// graphite-web's rules. The metric name is the tag `name`, without leading tildes.
func ParseTags(path string) (map[string]string, error) {
	if strings.HasSuffix(path, `"}`) && strings.Contains(path, "{") {
		return parseOpenMetrics(path)
	}
	segments := strings.Split(path, ";")
	tags := map[string]string{}
	for _, s := range segments[1:] {
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return nil, errors.New("invalid tag " + s)
		}
		if err := checkTag(key, value); err != nil {
			return nil, err
		}
		tags[key] = value
	}
	return withName(tags, segments[0])
}

func withName(tags map[string]string, metric string) (map[string]string, error) {
	name := strings.TrimLeft(metric, "~")
	if name == "" {
		return nil, errors.New("no metric name")
	}
	tags["name"] = name
	return tags, nil
}

func checkTag(key, value string) error {
	if key == "" || value == "" || strings.ContainsAny(key, ";!^=") || strings.Contains(value, ";") || value[0] == '~' {
		return errors.New("invalid tag " + key + "=" + value)
	}
	return nil
}

func parseOpenMetrics(path string) (map[string]string, error) {
	metric, rest, _ := strings.Cut(path[:len(path)-1], "{")
	if strings.Contains(rest, "{") && strings.Count(rest, "{") > 1 {
		return nil, errors.New("more than one tag set")
	}
	segment := regexp.MustCompile(`^([^=]+)="((?:\\["\\]|[^"\\])+)"(:?,|$)`)
	tags := map[string]string{}
	for rest != "" {
		m := segment.FindStringSubmatch(rest)
		if m == nil {
			return nil, errors.New("invalid tag " + rest)
		}
		value := strings.ReplaceAll(strings.ReplaceAll(m[2], `\"`, `"`), `\\`, `\`)
		if err := checkTag(m[1], value); err != nil {
			return nil, err
		}
		tags[m[1]] = value
		rest = rest[len(m[0]):]
	}
	return withName(tags, metric)
}
