package translate

import (
	"crypto/sha256"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// source turns fuzz data into rules, label sets, series and matchers. Where the data ends it yields
// zeros.
type source struct{ data []byte }

// addSeeds gives a fuzz target seeds that look random and stay the same, so that a plain test run
// covers much.
func addSeeds(f *testing.F, n int) {
	f.Add([]byte{})
	for _, seed := range seeds(n) {
		f.Add(seed)
	}
}

func seeds(n int) (list [][]byte) {
	for i := range n {
		var seed []byte
		for part := range 12 {
			var counter [8]byte
			binary.BigEndian.PutUint64(counter[:], uint64(i)<<8|uint64(part))
			sum := sha256.Sum256(counter[:])
			seed = append(seed, sum[:]...)
		}
		list = append(list, seed)
	}
	return list
}

func (s *source) byte() byte {
	if len(s.data) == 0 {
		return 0
	}
	b := s.data[0]
	s.data = s.data[1:]
	return b
}

func (s *source) below(n int) int { return int(s.byte()) % n }

func pick[T any](s *source, list []T) T { return list[s.below(len(list))] }

// pieces are texts, and parts of texts, at which different forms of names could be confused.
var pieces = []string{
	"", "a", "b", "foo", "foo_bar", "foo__bar", "_", "__", "_-", "_/", "_.", "-", "-_", "-_p", "-_p0", "-_p1", "-_p01", "-__p0",
	"1", "01", "_0", "_01", "_0A", "_41", "_2F", "_5F", "_3A", ":", "/", ".", "exported_", "__name__", "___name__", "__5F_5Fname__",
	"-foo", "--foo", "_-foo", "_-foo__bar", "_-_/", "_-foo_.bar", "x y", "é", "größe", "_C3_A9", "世界", "\x00", "\n", "\xff", "a:b",
	"a_.b", "_-a_.b", "a.b", ".", "..", "a._-b", "a.b:c", "x%.y_z", "a._-b_3Ac", "_-a.b__c", "_3A", "job", "le", "0.5", "web_01", "db_21", "localhost:9090",
}

// text is any text, also empty or invalid UTF-8.
func (s *source) text() string {
	switch s.below(4) {
	case 0:
		n := min(s.below(8), len(s.data))
		raw := string(s.data[:n])
		s.data = s.data[n:]
		return raw
	case 1:
		return pick(s, pieces) + pick(s, pieces)
	}
	return pick(s, pieces)
}

// storedText is any text that a TSD with its checks opened wide may have stored.
func (s *source) storedText() string {
	runes := []rune{}
	for _, c := range []byte(s.text()) {
		runes = append(runes, max(rune(c), 1))
	}
	if len(runes) == 0 {
		return "x"
	}
	return string(runes)
}

// translator has up to three rules, and often limits that pack almost everything.
func (s *source) translator(t testing.TB) *Translator {
	patterns := []string{".*", ".+", "", "foo.*", ".*_.*", "[^:]*", "[a-f_-]*", regexp.QuoteMeta(strings.ToValidUTF8(s.text(), "?"))}
	var rules []Rule
	for range s.below(4) {
		rules = append(rules, Rule{Pattern: pick(s, patterns), Mode: Mode(s.below(2))})
	}
	translator, err := New(rules...)
	if err != nil {
		t.Fatal(err)
	}
	if s.below(2) == 0 {
		translator.limits = limits{tags: s.below(4), length: 4 + s.below(12)}
	}
	return translator
}

// labelSet has sorted, distinct names and no empty values.
func (s *source) labelSet() labels.Labels {
	set := map[string]string{}
	for range s.below(7) {
		set[s.text()] = s.text()
	}
	if s.below(4) > 0 {
		set[nameLabel] = s.text()
	}
	return labels.FromMap(set).WithoutEmpty()
}

// pathPieces are texts at which different forms of Graphite names could be confused.
var pathPieces = []string{
	"", "a", "b", "name", "__name__", "_", "~", "~~", ";", "=", "!", "^", ".", "..", "/", "%", "%41", "%3b", "%", "%zz", "{", "}", `"`, `\`, `"}`,
	`{a="b"}`, `",b="`, ",", ":,", ";a=1", ";a=2", ";name=x", ";=x", "x y", "é", "\xff", "*", "a.b", ";b=", ";a-b=1", "\n",
}

// graphiteText is any text, and most often one that is almost a Graphite name.
func (s *source) graphiteText() string {
	if s.below(8) == 0 {
		return s.text()
	}
	text := ""
	for range s.below(8) {
		text += pick(s, pathPieces)
	}
	return text
}

// graphiteLabels has sorted, distinct names and no empty values.
func (s *source) graphiteLabels() labels.Labels {
	set := map[string]string{}
	for range s.below(4) {
		set[s.graphiteText()] = s.graphiteText()
	}
	if s.below(4) > 0 {
		set[nameLabel] = s.graphiteText()
	}
	return labels.FromMap(set).WithoutEmpty()
}

// series returns one of our series, a changed one of ours, or a foreign one.
func (s *source) series(t *Translator) storage.Series {
	series := storage.Series{Metric: s.storedText()}
	if s.below(3) > 0 {
		series = t.FromLabels(s.labelSet())
	}
	tags := map[string]string{}
	for _, tag := range series.Tags {
		tags[tag.Key] = tag.Value
	}
	for range s.below(4) {
		tags[s.storedText()] = s.storedText()
	}
	if s.below(8) == 0 {
		series.Metric = pick(s, []string{noMetric, longMetric})
	}
	return storage.Series{Metric: series.Metric, Tags: sortedTags(tags)}
}

func sortedTags(set map[string]string) []storage.Tag {
	tags := []storage.Tag{{Key: bareKey, Value: "x"}}
	if len(set) > 0 {
		tags = tags[:0]
	}
	for key, value := range set {
		tags = append(tags, storage.Tag{Key: key, Value: value})
	}
	slices.SortFunc(tags, byKey)
	return tags
}

// condition returns a condition that is likely to concern the series or its labels.
func (s *source) condition(series storage.Series, ls labels.Labels) Condition {
	names, values := []string{nameLabel, s.text()}, []string{"", s.text(), series.Metric}
	for _, tag := range series.Tags {
		names, values = append(names, tag.Key), append(values, tag.Value)
	}
	ls.Range(func(l labels.Label) {
		names, values = append(names, l.Name, clashPrefix+l.Name), append(values, l.Value, l.Value)
	})
	c := Condition{Label: pick(s, names)}
	value, invert := pick(s, values), s.below(2) == 0
	switch s.below(4) {
	case 0:
		c.Values = []string{}
		for range s.below(4) {
			c.Values = append(c.Values, pick(s, values))
		}
	case 1: // a condition that no matcher of Prometheus makes
		c.Match = func(v string) bool { return (len(v)%2 == 0) != invert }
	case 2:
		c.Match = func(v string) bool { return strings.HasPrefix(v, value) != invert }
	}
	return c
}

// matcher returns a matcher that is likely to concern the series or its labels; nil if the data
// makes none.
func (s *source) matcher(series storage.Series, ls labels.Labels) *labels.Matcher {
	names, values := []string{nameLabel, s.text()}, []string{"", s.text(), series.Metric}
	for _, tag := range series.Tags {
		names, values = append(names, tag.Key), append(values, tag.Value)
	}
	ls.Range(func(l labels.Label) {
		names, values = append(names, l.Name, clashPrefix+l.Name), append(values, l.Value, l.Value)
	})
	kind, name, value := labels.MatchType(s.below(4)), pick(s, names), pick(s, values)
	if kind == labels.MatchRegexp || kind == labels.MatchNotRegexp {
		a, b := regexp.QuoteMeta(value), regexp.QuoteMeta(pick(s, values))
		value = pick(s, []string{a, a + "|" + b, a + "|" + b + "|" + b, a + ".*", ".*", ".+", "(.+)", ".+.*", ".+.+", "..+", "", "[^a]*", "(?i)" + a, "(" + b + ")?", ".*|a", "^$", "^.*$", "^.+$", "^" + a, "(^.*)$", "()", ".*\n?"})
	}
	m, err := labels.NewMatcher(kind, name, value)
	if err != nil {
		return nil // a value that is not UTF-8
	}
	return m
}
