package eval

import (
	"bufio"
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// memory is a small store that works like carbon and whisper: a value for each slot of a step,
// where the last write wins.
type memory struct {
	series map[string]*stored
	names  []string
	asked  []Fetch
}

type stored struct {
	step   int64
	points map[int64]float64
	tags   map[string]string // nil for a plain name.
}

// stepOf returns the oracle's storage-schemas.conf.
func stepOf(name string) int64 {
	for prefix, step := range map[string]int64{"coarse.": 60, "mix.s30.": 30, "mix.s60.": 60, "mix.s300.": 300, "hw.": 300, "mix.s1.": 1} {
		if strings.HasPrefix(name, prefix) {
			return step
		}
	}
	return 10
}

func readFeed(t *testing.T) *memory {
	t.Helper()
	m := &memory{series: map[string]*stored{}}
	lines := bufio.NewScanner(open(t, "testdata/feed.txt.gz"))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		value, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		m.add(f[0], at, value)
	}
	return m
}

func (m *memory) add(name string, at int64, value float64) {
	var tags map[string]string
	if strings.Contains(name, ";") {
		var err error
		if tags, err = series.ParseTags(name); err == nil {
			name = canonical(tags)
		}
	} else {
		name = strings.ReplaceAll(name, "/", ".")
	}
	s := m.series[name]
	if s == nil {
		s = &stored{step: stepOf(name), points: map[int64]float64{}, tags: tags}
		m.series[name] = s
		i, _ := slices.BinarySearch(m.names, name)
		m.names = slices.Insert(m.names, i, name)
	}
	s.points[at-python.Modulo(at, s.step)] = value
}

func canonical(tags map[string]string) string {
	var pairs []string
	for k, v := range tags {
		if k != "name" {
			pairs = append(pairs, ";"+k+"="+v)
		}
	}
	slices.Sort(pairs)
	return tags["name"] + strings.Join(pairs, "")
}

// Fetch reads as whisper does.
func (m *memory) Fetch(_ context.Context, list []Fetch) ([][]*series.Series, error) {
	m.asked = append(m.asked, list...)
	out := make([][]*series.Series, len(list))
	for i, f := range list {
		match, err := matcher(f)
		if err != nil {
			return nil, err
		}
		for _, name := range m.names {
			if s := m.series[name]; match(name, s) && f.From <= f.Now {
				out[i] = append(out[i], s.read(name, f))
			}
		}
	}
	return out, nil
}

func (s *stored) read(name string, f Fetch) *series.Series {
	start, end := series.Grid(f.From, min(f.Until, f.Now), s.step)
	values := make([]float64, 0, (end-start)/s.step)
	for at := start; at < end; at += s.step {
		v, ok := s.points[at]
		if !ok {
			v = python.None()
		}
		values = append(values, v)
	}
	return &series.Series{Name: name, Start: start, End: end, Step: s.step, Values: values}
}

// matcher supports globs, like graphite-web's finder, and tag expressions.
func matcher(f Fetch) (func(string, *stored) bool, error) {
	if f.Tags != nil {
		return tagMatcher(f.Tags)
	}
	if strings.Contains(f.Pattern, ";") {
		return func(name string, _ *stored) bool { return name == f.Pattern }, nil
	}
	re, err := regexp.Compile(globRegexp(f.Pattern))
	if err != nil {
		return func(string, *stored) bool { return false }, nil // No set of characters, say.
	}
	return func(name string, s *stored) bool { return s.tags == nil && re.MatchString(name) }, nil
}

func globRegexp(pattern string) string {
	var b strings.Builder
	if strings.Count(pattern, "{") != strings.Count(pattern, "}") {
		return "^$"
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			if strings.HasPrefix(pattern[i:], "**") {
				b.WriteString(".*")
				i++
				continue
			}
			b.WriteString("[^.]*")
		case '?':
			b.WriteString("[^.]")
		case '{':
			b.WriteString("(?:")
		case '}':
			b.WriteString(")")
		case ',':
			b.WriteString("|")
		case '[':
			end := strings.IndexByte(pattern[i+1:], ']')
			if end < 0 {
				b.WriteString(`\[`)
				continue
			}
			set := pattern[i+1 : i+1+end]
			if rest, ok := strings.CutPrefix(set, "!"); ok {
				b.WriteString("[^" + rest + ".]")
			} else {
				b.WriteString("[" + strings.ReplaceAll(set, "^", `\^`) + "]")
			}
			i += end + 1
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return "^(?:" + b.String() + ")$"
}

func tagMatcher(list []string) (func(string, *stored) bool, error) {
	spec := regexp.MustCompile(`^([^;!=]+)(!?=~?)([^;]*)$`)
	var all []func(map[string]string) bool
	some := false
	for _, e := range list {
		m := spec.FindStringSubmatch(e)
		if m == nil {
			return nil, python.Crash("Invalid tagspec %s", e)
		}
		is := func(v string) bool { return v == m[3] }
		if strings.HasSuffix(m[2], "~") {
			re, err := pyregexp.Compile(m[3])
			if err != nil {
				return nil, python.Crash("%s", err)
			}
			is = func(v string) bool { ok, _ := re.Match(v); return ok }
		}
		want := m[2][0] == '='
		some = some || is("") != want
		all = append(all, func(tags map[string]string) bool { return is(tags[m[1]]) == want })
	}
	if !some {
		return nil, python.Crash("At least one tagspec must require a non-empty value")
	}
	return func(_ string, s *stored) bool {
		return s.tags != nil && !slices.ContainsFunc(all, func(f func(map[string]string) bool) bool { return !f(s.tags) })
	}, nil
}
