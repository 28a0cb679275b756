package opentsdbtest

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
)

// differs returns how a reply differs from the TSD's in its meaning: the order of series and of
// names of tags in an answer, texts of errors, and whether a number is 1 or 1.0 do not matter.
func (e *exchange) differs(got received) string {
	if e.Kind == "http" && got.Status != e.Status {
		return fmt.Sprintf("status %d, want %d: %.200v", got.Status, e.Status, got.Reply)
	}
	if want, have := mediaType(e.ContentType), mediaType(got.ContentType); e.Kind == "http" && want != "" && want != have {
		return fmt.Sprintf("content type %q, want %q", have, want)
	}
	want, have := stable(e.Reply), stable(got.Reply)
	if isError(want) {
		if !isError(have) {
			return fmt.Sprintf("want an error, got %.200v", have)
		}
		return ""
	}
	switch e.Compare {
	case "status":
		return ""
	case "text":
		return cmp.Diff(textLines(e, want), textLines(e, have))
	case "set", "list":
		sortAny(want)
		sortAny(have)
	case "keys":
		return missingKeys(e, want, have)
	case "stats":
		return statsDiffer(have)
	case "lookup":
		sortAny(Field(want, "results"))
		sortAny(Field(have, "results"))
	case "dps":
		want, have = sortSeries(want), sortSeries(have)
	}
	return cmp.Diff(want, have, cmp.Comparer(near))
}

func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	return strings.ToLower(strings.TrimSpace(s))
}

// near reports whether two numbers are equal but for the last digits of a decimal.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b))
}

// stable leaves out what depends on the moment and on the machine.
func stable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range v {
			switch key {
			case "trace", "time", "created", "lastReceived", "totalDatapoints", "elapsed", "queryStart", "timestamp_now", "timing":
			default:
				out[key] = stable(value)
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			out = append(out, stable(value))
		}
		return out
	}
	return v
}

func Field(v any, name string) any {
	m, _ := v.(map[string]any)
	return m[name]
}

func isError(v any) bool {
	_, ok := Field(v, "error").(map[string]any)
	return ok
}

func key(v any) string {
	b, err := httpapi.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func sortAny(v any) {
	if list, ok := v.([]any); ok {
		sort.SliceStable(list, func(i, j int) bool { return key(list[i]) < key(list[j]) })
	}
}

// sortSeries orders the series of an answer by what they are.
func sortSeries(v any) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	for _, s := range list {
		for _, name := range []string{"aggregateTags", "tsuids", "globalAnnotations"} {
			sortAny(Field(s, name))
		}
	}
	of := func(s any) string {
		return key([]any{Field(s, "metric"), Field(s, "tags"), Field(s, "aggregateTags"), Field(s, "query")})
	}
	slices.SortStableFunc(list, func(a, b any) int { return strings.Compare(of(a), of(b)) })
	return list
}

// textLines are the lines of a text, in any order: the words of those of a query in any order, of those
// of telnet the words before the colon.
func textLines(e *exchange, v any) []string {
	text, ok := v.(string)
	if !ok {
		return []string{key(v)}
	}
	trace := regexp.MustCompile(`^\s+at |^Caused by|^\s+\.\.\. `)
	var out []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case strings.TrimSpace(line) == "" || trace.MatchString(line):
			continue
		case strings.Contains(e.Path, "/q?"):
			words := strings.Fields(line)
			slices.Sort(words)
			line = strings.Join(words, " ")
		case e.Kind == "telnet":
			line, _, _ = strings.Cut(line, ":")
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// missingKeys compares the keys of objects. Settings may be fewer than a TSD's.
func missingKeys(e *exchange, want, have any) string {
	if _, ok := want.([]any); ok {
		if _, ok := have.([]any); !ok {
			return fmt.Sprintf("want a list, got %.100v", have)
		}
		return ""
	}
	object, ok := have.(map[string]any)
	if !ok {
		return fmt.Sprintf("want an object, got %.100v", have)
	}
	wanted, _ := want.(map[string]any)
	for name := range wanted {
		if _, ok := object[name]; !ok && !strings.HasSuffix(e.Path, "/config") {
			return "no key " + name
		}
	}
	return ""
}

func statsDiffer(have any) string {
	list, ok := have.([]any)
	if !ok {
		return fmt.Sprintf("want a list of statistics, got %.100v", have)
	}
	for _, s := range list {
		for _, name := range []string{"metric", "timestamp", "value", "tags"} {
			if Field(s, name) == nil {
				return fmt.Sprintf("a statistic without %s: %v", name, s)
			}
		}
	}
	return ""
}
