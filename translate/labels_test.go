package translate

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// The commands of testdata/*, each with the arguments compat=(patterns), tags=N and length=N:
//
//	labels   label set (name="value" a line) -> stored series, and whether it comes back
//	stored   metric, then key=value a line   -> label set, and whether it is what we would have stored
//	filters  matcher a line                  -> filter a line
//	conditions  label, and values or a prefix* a line -> filter a line
//	paths    Graphite name a line            -> its labels, and its canonical name where that is another one
//	carbon   Graphite name a line            -> its canonical name
//	name     label set                       -> its Graphite name
//	metrics  metric name a line              -> stored metric, and its elements as trees show them
//	shown    stored text a line              -> what it shows as
func TestData(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			tr := translatorOf(t, d)
			lines := strings.Split(d.Input, "\n")
			if d.Input == "" {
				lines = nil
			}
			switch d.Cmd {
			case "labels":
				return showStored(tr, parseLabels(t, lines))
			case "stored":
				return showLabels(tr, parseSeries(t, lines))
			case "filters":
				return showFilters(tr.Filters(parseMatchers(t, lines)))
			case "conditions":
				return showFilters(tr.ConditionFilters(parseConditions(t, lines)))
			case "paths":
				return eachLine(lines, showPath)
			case "carbon":
				return eachLine(lines, func(path string) string { return LabelsPath(PathLabels(path)) })
			case "name":
				return showName(parseLabels(t, lines))
			case "metrics":
				return eachLine(lines, func(name string) string { return showMetric(tr, name) })
			case "shown":
				return eachLine(lines, Shown)
			}
			t.Fatalf("%s: unknown command", d.Pos)
			return ""
		})
	})
}

func translatorOf(t *testing.T, d *datadriven.TestData) *Translator {
	var rules []Rule
	if arg, ok := d.Arg("compat"); ok {
		for _, pattern := range arg.Vals {
			rules = append(rules, Rule{Pattern: pattern, Mode: Compat})
		}
	}
	tr, err := New(rules...)
	if err != nil {
		t.Fatal(err)
	}
	d.MaybeScanArgs(t, "tags", &tr.limits.tags)
	d.MaybeScanArgs(t, "length", &tr.limits.length)
	return tr
}

func showStored(tr *Translator, ls labels.Labels) string {
	s := tr.FromLabels(ls)
	out := s.Metric + "\n"
	for _, tag := range s.Tags {
		out += tag.Key + "=" + tag.Value + "\n"
	}
	if back := tr.ToLabels(s); !labels.Equal(back, ls.WithoutEmpty()) {
		out += "comes back as " + back.String() + "\n"
	}
	return out
}

func showLabels(tr *Translator, s storage.Series) string {
	ls := tr.ToLabels(s)
	out := ls.String() + "\n"
	if again := tr.FromLabels(ls); !cmp.Equal(again, s) {
		out += "foreign\n"
	}
	return out
}

func showFilters(filters []storage.Filter) string {
	out := ""
	for _, f := range filters {
		switch f.Keys {
		case nil:
			out += "metric"
		default:
			out += strings.Join(f.Keys, ",")
		}
		switch {
		case f.Values != nil:
			out += " in " + fmt.Sprintf("%q", f.Values)
		case f.Match != nil:
			out += " matches"
		default:
			out += " any"
		}
		if f.Absent {
			out += " or absent"
		}
		if len(f.Or) > 0 {
			out += " or has " + strings.Join(f.Or, ",")
		}
		out += "\n"
	}
	if out == "" {
		out = "none\n"
	}
	return out
}

func parseLabels(t *testing.T, lines []string) labels.Labels {
	set := map[string]string{}
	for _, line := range lines {
		name, rest := parseName(t, line)
		set[name] = unquote(t, strings.TrimPrefix(rest, "="))
	}
	return labels.FromMap(set)
}

func parseSeries(t *testing.T, lines []string) storage.Series {
	tags := map[string]string{}
	for _, line := range lines[1:] {
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Fatalf("%q is no tag", line)
		}
		tags[key] = value
	}
	return storage.Series{Metric: lines[0], Tags: sortedTags(tags)}
}

func parseMatchers(t *testing.T, lines []string) (matchers []*labels.Matcher) {
	kinds := map[string]labels.MatchType{
		"=": labels.MatchEqual, "!=": labels.MatchNotEqual, "=~": labels.MatchRegexp, "!~": labels.MatchNotRegexp,
	}
	for _, line := range lines {
		name, rest := parseName(t, line)
		op, value, _ := strings.Cut(rest, `"`)
		kind, ok := kinds[op]
		if !ok {
			t.Fatalf("%q is no matcher", line)
		}
		matchers = append(matchers, labels.MustNewMatcher(kind, name, unquote(t, `"`+value)))
	}
	return matchers
}

var bareName = regexp.MustCompile(`^[A-Za-z0-9_]+`)

// parseName cuts a bare or quoted name off a line.
func parseName(t *testing.T, line string) (name, rest string) {
	if name = bareName.FindString(line); name != "" {
		return name, line[len(name):]
	}
	quoted, err := strconv.QuotedPrefix(line)
	if err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return unquote(t, quoted), line[len(quoted):]
}

func unquote(t *testing.T, s string) string {
	text, err := strconv.Unquote(s)
	if err != nil {
		t.Fatalf("%q: %v", s, err)
	}
	return text
}

// Any label set under any rules becomes a series that the store accepts, and comes back; no two
// become the same.
func FuzzLabels(f *testing.F) {
	addSeeds(f, 600)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &source{data}
		tr := in.translator(t)
		x, y := in.labelSet(), in.labelSet()
		sx, sy := tr.FromLabels(x), tr.FromLabels(y)
		checkStorable(t, tr, sx)
		if back := tr.ToLabels(sx); !labels.Equal(back, x) {
			t.Errorf("ToLabels(%q) = %v, want %v", sx, back, x)
		}
		if cmp.Equal(sx, sy) != labels.Equal(x, y) {
			t.Errorf("%v is stored as %q, %v as %q", x, sx, y, sy)
		}
	})
}

// The form of a name does not depend on the other labels.
func FuzzMetric(f *testing.F) {
	addSeeds(f, 200)
	f.Fuzz(func(t *testing.T, data []byte) {
		in := &source{data}
		tr := in.translator(t)
		x, y := in.text(), in.text()
		sx, sy := tr.MetricName(x), tr.MetricName(y)
		if back := tr.FromMetric(sx); back != x && sx != longMetric {
			t.Errorf("FromMetric(%q) = %q, want %q", sx, back, x)
		}
		if sx == sy && x != y && sx != longMetric {
			t.Errorf("%q and %q are both stored as %q", x, y, sx)
		}
		stored := in.storedText()
		if shown := tr.FromMetric(stored); shown == "" && stored != noMetric && stored != longMetric {
			t.Errorf("FromMetric(%q) shows nothing", stored)
		}
	})
}

func checkStorable(t *testing.T, tr *Translator, s storage.Series) {
	t.Helper()
	names := []string{s.Metric}
	for _, tag := range s.Tags {
		names = append(names, tag.Key, tag.Value)
	}
	for _, name := range names {
		// Only the keys of packed tags grow regardless of a test's limits.
		if !isLegal(name) || len(name) > max(tr.limits.length, len("-_p9999")) {
			t.Errorf("%q: %q cannot be stored", s, name)
		}
	}
	if len(s.Tags) == 0 || !slices.IsSortedFunc(s.Tags, byKey) {
		t.Errorf("%q: no tags, or not sorted", s)
	}
	for i := 1; i < len(s.Tags); i++ {
		if s.Tags[i-1].Key == s.Tags[i].Key {
			t.Errorf("%q: a key twice", s)
		}
	}
}
