package e2e_test

import (
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// dayName is a name with a UID. A rename changes its text, and with it all series that have it.
type dayName struct{ kind, text string }

// daySeries is a series of the simulated day, and what is acknowledged of it.
type daySeries struct {
	metric *dayName
	tags   map[string]*dayName // by tag key
	points map[int64]string    // milliseconds → bitText
	// histograms: seconds → counts of underflow, 0 to 1.75, 1.75 to 3.5, overflow.
	histograms map[int64][4]int64
	notes      map[int64]string           // seconds → description of the annotation
	rolled     map[int64]map[string]int64 // seconds of the interval → aggregation → value
	note       string                     // description in its TSMeta
}

// dayKey is an instant of a series.
type dayKey struct {
	s  *daySeries
	at int64 // milliseconds
}

// dayRow is the hour of a series.
type dayRow struct {
	s    *daySeries
	hour int64 // milliseconds
}

func (s *daySeries) String() string { return s.labels() }

// named returns the labels.
func (s *daySeries) named() map[string]string {
	ls := map[string]string{"__name__": s.metric.text}
	for key, value := range s.tags {
		ls[key] = value.text
	}
	return ls
}

// labels returns the labels as Prometheus' protocols have them.
func (s *daySeries) labels() string {
	ls := s.named()
	delete(ls, noTag)
	return labelText(ls)
}

// noTag is the tag key of a series without tags, in OpenTSDB's tables.
const noTag = "-_"

// tagTexts returns the tags without the metric.
func (s *daySeries) tagTexts() map[string]string {
	ls := s.named()
	delete(ls, "__name__")
	return ls
}

// selector returns the series as an m= of OpenTSDB's queries has it.
func (s *daySeries) selector() string {
	var tags []string
	for _, key := range slices.Sorted(maps.Keys(s.tags)) {
		tags = append(tags, key+"="+s.tags[key].text)
	}
	return s.metric.text + "{" + strings.Join(tags, ",") + "}"
}

// path returns where the first tree of the day has the series.
func (s *daySeries) path() string {
	var steps []string
	for _, key := range []string{"dc", "host"} {
		if value := s.tags[key]; value != nil {
			steps = append(steps, value.text)
		}
	}
	return strings.Join(append(steps, s.metric.text), ".")
}

// forget removes what lies in a time (milliseconds, inclusive), but for rolled up values.
func (s *daySeries) forget(start, end int64) {
	in := func(at int64) bool { return at >= start && at <= end }
	maps.DeleteFunc(s.points, func(at int64, _ string) bool { return in(at) })
	maps.DeleteFunc(s.histograms, func(at int64, _ [4]int64) bool { return in(at * 1000) })
	maps.DeleteFunc(s.notes, func(at int64, _ string) bool { return in(at * 1000) })
}

// forgetRolled removes the values of hours that lie in a time as a whole.
func (s *daySeries) forgetRolled(start, end int64) {
	maps.DeleteFunc(s.rolled, func(at int64, _ map[string]int64) bool {
		return at*1000 >= start && at*1000+time.Hour.Milliseconds()-1 <= end
	})
}

// name returns the name with a text, which may be new.
func (d *day) name(kind, text string) *dayName {
	for _, n := range d.names {
		if n.kind == kind && n.text == text {
			return n
		}
	}
	n := &dayName{kind, text}
	d.names = append(d.names, n)
	return n
}

// seriesOf returns the series of a metric and tags (name, value, ...), which may be new.
func (d *day) seriesOf(metric string, tags ...string) *daySeries {
	s := &daySeries{
		metric: d.name("metric", metric), tags: map[string]*dayName{}, points: map[int64]string{},
		histograms: map[int64][4]int64{}, notes: map[int64]string{}, rolled: map[int64]map[string]int64{},
	}
	for i := 0; i < len(tags); i += 2 {
		s.tags[tags[i]] = d.name("tagv", tags[i+1])
	}
	for _, old := range d.all {
		if old.metric == s.metric && maps.Equal(old.tags, s.tags) {
			return old
		}
	}
	d.all = append(d.all, s)
	return s
}

// metrics returns the texts of all metrics, sorted.
func (d *day) metrics() []string {
	found := map[string]bool{}
	for _, s := range d.all {
		found[s.metric.text] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// want returns the points of a metric.
func (d *day) want(metric string) pointSet {
	all := pointSet{}
	for _, s := range d.all {
		if s.metric.text == metric && len(s.points) > 0 {
			all[s.labels()] = maps.Clone(s.points)
		}
	}
	return all
}

// uids are the UIDs of names: "metrics name", "tagk name", "tagv name" → bytes.
type uids map[string]string

func (s tables) uids(t testing.TB) uids {
	t.Helper()
	forward, _ := s.uidRows(t)
	return forward
}

// key returns the row key of an hour of a series; without its time (4 bytes) it is the TSUID.
func (u uids) key(r dayRow) string {
	var pairs []string
	for key, value := range r.s.tags {
		pairs = append(pairs, u["tagk "+key]+u["tagv "+value.text])
	}
	slices.Sort(pairs)
	base := r.hour / 1000
	return u["metrics "+r.s.metric.text] + string([]byte{byte(base >> 24), byte(base >> 16), byte(base >> 8), byte(base)}) + strings.Join(pairs, "")
}

// tsuid returns the TSUID of a series in hexadecimal.
func (u uids) tsuid(s *daySeries) string {
	key := u.key(dayRow{s: s})
	return strings.ToUpper(hex.EncodeToString([]byte(key[:3] + key[7:])))
}

// counted counts what was done in the day.
type counted map[string]int

func (c counted) String() string {
	var b strings.Builder
	for _, what := range slices.Sorted(maps.Keys(c)) {
		fmt.Fprintf(&b, "%8d %s\n", c[what], what)
	}
	return b.String()
}
