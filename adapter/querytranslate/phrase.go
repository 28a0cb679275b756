// Package querytranslate says a query of one language in the others, where all of them can say it: the series of one metric,
// at most one function over time, at most one aggregation. It asks nothing and evaluates nothing. The languages differ
// in their arithmetic, so the answers are near each other and not equal.
package querytranslate

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A Language is one of the three.
type Language string

// The languages.
const (
	PromQL   Language = "promql"
	Graphite Language = "graphite"
	OpenTSDB Language = "opentsdb"
)

// Languages are all languages.
func Languages() []Language { return []Language{PromQL, Graphite, OpenTSDB} }

// ErrNotExpressible means that a language cannot say a query; the text tells why, for people.
var ErrNotExpressible = errors.New("cannot be said")

func unsaid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNotExpressible, fmt.Sprintf(format, args...))
}

// Reason returns why something cannot be said.
func Reason(err error) string {
	return strings.TrimPrefix(err.Error(), ErrNotExpressible.Error()+": ")
}

// A Query is what all languages can say. Names are those of labels.
type Query struct {
	Metric string
	// Pattern means that Metric is a Graphite pattern of dotted names.
	Pattern    bool
	Conditions []Condition // all hold, in the order in which they were written
	Function   Function
	Window     time.Duration // of the function; 0: none was named
	Aggregate  Aggregate
	By         []string // labels that groups have in common, ascending
}

// A Condition is one on the value of a label.
type Condition struct {
	Label string
	Op    Op
	Value string // for Matches and MatchesNot a regular expression that matches the whole value
}

// An Op compares a value.
type Op string

// The comparisons, as PromQL writes them.
const (
	Equals     Op = "="
	EqualsNot  Op = "!="
	Matches    Op = "=~"
	MatchesNot Op = "!~"
)

// A Function computes values of a series from others of its values.
type Function int

// The functions.
const (
	NoFunction Function = iota
	Rate                // per second, of a counter
	MeanOver            // of each window of time, and so on
	SumOver
	LeastOver
	GreatestOver
	CountOver
)

// An Aggregate makes one series of several.
type Aggregate int

// The aggregations.
const (
	NoAggregate Aggregate = iota
	Sum
	Mean
	Least
	Greatest
	Count
)

// words are the names of functions and aggregations in a language.
type words struct {
	functions  map[Function]string
	aggregates map[Aggregate]string
}

func find[K comparable](m map[K]string, word string) (key K, ok bool) {
	for k, w := range m {
		if w == word {
			return k, true
		}
	}
	return key, false
}

// Names turns names of labels into those of the other languages and back. translate.Translator and tagspec's rules are such.
type Names interface {
	MetricName(label string) (stored string)
	FromMetric(stored string) (label string)
	TagKey(label string) string
	Label(key string) (label string, ok bool)
}

// A Speaker reads and says queries.
type Speaker struct {
	Names Names
	// Dotted reports whether there is a series without tags of a name, which Graphite finds by its path alone.
	Dotted func(metric string) bool
	// Tag returns Graphite's tag of a label.
	Tag func(label string) string
}

// Read returns what a text in a language means. An ErrUnsaid means that it is more than a Query; other errors are those of the language.
func (s Speaker) Read(l Language, text string) (Query, error) {
	read, ok := map[Language]func(string) (Query, error){PromQL: readPromQL, Graphite: s.readGraphite, OpenTSDB: s.readOpenTSDB}[l]
	if !ok {
		return Query{}, fmt.Errorf("unknown language %q", l)
	}
	q, err := read(text)
	if err == nil && q.Metric == "" {
		err = unsaid("the query names no metric")
	}
	return q, err
}

// Say returns the text of a query in a language, or an ErrUnsaid.
func (s Speaker) Say(l Language, q Query) (string, error) {
	switch l {
	case PromQL:
		return sayPromQL(q)
	case Graphite:
		return s.sayGraphite(q)
	case OpenTSDB:
		return s.sayOpenTSDB(q)
	}
	return "", fmt.Errorf("unknown language %q", l)
}

// defaultWindow is that of a function whose language names none.
const defaultWindow = 5 * time.Minute

func (q Query) window() time.Duration {
	if q.Window > 0 {
		return q.Window
	}
	return defaultWindow
}
