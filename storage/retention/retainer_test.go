package retention_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/retention"
)

var errBroken = errors.New("no such luck")

// base is 2013-01-01 00:00:00 UTC, the begin of a day and of an hour.
var base = time.Unix(1356998400, 0)

// fake is a catalogue with the deletion of a store. It has the series at all times.
type fake struct {
	series []storage.Series
	// deletion is called for each deletion; nil: it deletes one row of each series.
	deletion func(names []string) (rows int, err error)
	findErr  error
	listErr  error

	asked   []string // the metrics of each Find, joined
	deleted []string // "name start end" of each series deleted, hours after base
}

func (f *fake) NamedMetrics(context.Context, int64, int64) ([]string, error) {
	var names []string
	for _, s := range f.series {
		if !slices.Contains(names, s.Metric) {
			names = append(names, s.Metric)
		}
	}
	slices.Reverse(names) // a catalogue promises no order
	return names, f.listErr
}

func (f *fake) FindNamed(_ context.Context, filters []storage.Filter, _, _ int64) ([]storage.Found, error) {
	f.asked = append(f.asked, strings.Join(filters[0].Values, " "))
	var found []storage.Found
	for n, s := range f.series {
		if slices.Contains(filters[0].Values, s.Metric) {
			found = append(found, storage.Found{Ref: storage.Ref(n + 1), Series: s})
		}
	}
	return found, f.findErr
}

func (f *fake) Delete(_ context.Context, refs []storage.Ref, start, end int64) (int, error) {
	hour := func(ms int64) string { return fmt.Sprint(float64(ms-base.UnixMilli()) / 3600_000) }
	var names []string
	for _, ref := range refs {
		names = append(names, f.series[ref-1].String())
	}
	rows, err := len(refs), error(nil)
	if f.deletion != nil {
		rows, err = f.deletion(names)
	}
	if err != nil {
		return rows, err
	}
	from := "0"
	if start > 0 {
		from = hour(start)
	}
	for _, name := range names {
		f.deleted = append(f.deleted, fmt.Sprint(name, " ", from, " ", hour(end+1)))
	}
	return rows, nil
}

func (f *fake) take() (deleted []string) {
	deleted, f.deleted, f.asked = f.deleted, nil, nil
	return deleted
}

// clock is the time of a retainer.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newRetainer(f *fake, c *clock, rules ...retention.Rule) (*retention.Retainer, *prometheus.Registry, *bytes.Buffer) {
	var log bytes.Buffer
	reg := prometheus.NewRegistry()
	return retention.New(retention.Options{
		Rules: rules, Catalog: f, Delete: f.Delete, Now: c.now,
		Logger: slog.New(slog.NewTextHandler(&log, nil)), Registerer: reg,
	}), reg, &log
}

// keepDay keeps the points of some metrics for a day.
func keepDay(metrics ...string) retention.Rule {
	return retention.Rule{
		Name: "day", Age: 24 * time.Hour, Filters: []storage.Filter{{Values: metrics}},
		Matches: func(s storage.Series) bool { return slices.Contains(metrics, s.Metric) },
	}
}

func named(metric string, tags ...string) storage.Series {
	s := storage.Series{Metric: metric}
	for i := 0; i < len(tags); i += 2 {
		s.Tags = append(s.Tags, storage.Tag{Key: tags[i], Value: tags[i+1]})
	}
	return s
}

func pass(t *testing.T, r *retention.Retainer) {
	t.Helper()
	if err := r.Pass(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestPassDeletesWholeHours: a pass looks at the hours that became too old since the last one, and
// at all hours on the first pass, on the first pass of a day, and when the clock was set back.
func TestPassDeletesWholeHours(t *testing.T) {
	f := &fake{series: []storage.Series{named("m", "host", "a")}}
	c := &clock{}
	r, _, _ := newRetainer(f, c, keepDay("m"))
	for _, step := range []struct {
		at   time.Duration // after base, without the age of a day
		want []string
	}{
		{90 * time.Minute, []string{"m{host=a} 0 1"}},
		{119 * time.Minute, nil},
		{2 * time.Hour, []string{"m{host=a} 1 2"}},
		{5*time.Hour + time.Minute, []string{"m{host=a} 2 5"}},
		{24 * time.Hour, []string{"m{host=a} 0 24"}},
		{25 * time.Hour, []string{"m{host=a} 24 25"}},
		{24 * time.Hour, []string{"m{host=a} 0 24"}},
		{26 * time.Hour, []string{"m{host=a} 24 26"}},
	} {
		c.at = base.Add(24*time.Hour + step.at)
		pass(t, r)
		same(t, fmt.Sprint("at ", step.at), f.take(), step.want...)
	}
}

// TestPassBeforeTheEpoch: nothing is as old as a rule says.
func TestPassBeforeTheEpoch(t *testing.T) {
	f := &fake{series: []storage.Series{named("m")}}
	rule := keepDay("m")
	rule.Age = 1 << 62
	r, _, _ := newRetainer(f, &clock{at: base}, rule)
	pass(t, r)
	same(t, "of an age longer than time itself", f.take())
}

// TestPassSelects: each rule deletes the series that it matches and no others, and asks for no
// metrics that it cannot match.
func TestPassSelects(t *testing.T) {
	f := &fake{series: []storage.Series{
		named("cpu", "env", "dev"), named("cpu", "env", "prod"), named("disk", "env", "dev"), named("net", "env", "prod"),
	}}
	dev := func(s storage.Series) bool {
		return slices.Contains(s.Tags, storage.Tag{Key: "env", Value: "dev"})
	}
	all := func(storage.Series) bool { return true }
	for _, c := range []struct {
		name    string
		filters []storage.Filter
		matches func(storage.Series) bool
		asked   string
		want    []string
	}{
		{"all", nil, all, "cpu disk net", []string{"cpu{env=dev}", "cpu{env=prod}", "disk{env=dev}", "net{env=prod}"}},
		{"a tag", []storage.Filter{{Keys: []string{"env"}, Values: []string{"dev"}}}, dev, "cpu disk net", []string{"cpu{env=dev}", "disk{env=dev}"}},
		{"a metric", []storage.Filter{{Values: []string{"net", "gone"}}}, all, "net", []string{"net{env=prod}"}},
		{"a pattern", []storage.Filter{{Match: func(m string) bool { return len(m) == 3 }}}, dev, "cpu net", []string{"cpu{env=dev}"}},
		{"a metric that is not there", []storage.Filter{{Values: []string{"gone"}}}, all, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.take()
			r, reg, _ := newRetainer(f, &clock{at: base.Add(25 * time.Hour)}, retention.Rule{Age: 24 * time.Hour, Filters: c.filters, Matches: c.matches})
			pass(t, r)
			if asked := strings.Join(f.asked, ","); asked != c.asked {
				t.Errorf("it asked for %q, want %q", asked, c.asked)
			}
			for i := range c.want {
				c.want[i] += " 0 1"
			}
			same(t, "deleted", f.take(), c.want...)
			count(t, reg, "series_total", len(c.want))
			count(t, reg, "rows_deleted_total", len(c.want))
			count(t, reg, "passes_total", 1)
			count(t, reg, "last_pass_timestamp_seconds", int(base.Add(25*time.Hour).Unix()))
		})
	}
}

// count compares a metric of the retainer.
func count(t *testing.T, reg *prometheus.Registry, name string, want int) {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "tsdbridge_retention_rules_"+name {
			if got := f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue(); got != float64(want) {
				t.Errorf("%s = %v, want %d", name, got, want)
			}
			return
		}
	}
	t.Errorf("there is no metric %s", name)
}

// TestPassesOfSeveralRules have ages of their own.
func TestPassesOfSeveralRules(t *testing.T) {
	f := &fake{series: []storage.Series{named("long"), named("short")}}
	long, short := keepDay("long"), keepDay("short", "long")
	short.Name, short.Age = "short", time.Hour
	long.Matches = func(s storage.Series) bool { return s.Metric == "long" }
	short.Matches = func(s storage.Series) bool { return s.Metric == "short" }
	r, _, log := newRetainer(f, &clock{at: base.Add(26 * time.Hour)}, long, short)
	pass(t, r)
	same(t, "deleted", f.take(), "long{} 0 2", "short{} 0 25")
	for _, line := range []string{`rule=day before=2013-01-01T02:00:00.000Z series=1 rows=1`, `rule=short before=2013-01-02T01:00:00.000Z series=1 rows=1`} {
		if !strings.Contains(log.String(), line) {
			t.Errorf("the log lacks %q:\n%s", line, log)
		}
	}
}

// manyMetrics are more than a pass looks at together.
func manyMetrics() (list []storage.Series) {
	for n := range 150 {
		list = append(list, named(fmt.Sprintf("m%03d", n)))
	}
	return list
}

// TestPassResumes: a pass that an error ended goes on with the metrics where the error was, for the
// same hours, even when others have become too old meanwhile. The pass after it takes those.
func TestPassResumes(t *testing.T) {
	f := &fake{series: manyMetrics()}
	c := &clock{at: base.Add(25 * time.Hour)}
	matchAll := retention.Rule{Age: 24 * time.Hour, Matches: func(storage.Series) bool { return true }}
	r, reg, _ := newRetainer(f, c, matchAll)
	f.deletion = func(names []string) (int, error) {
		if slices.Contains(names, "m064{}") {
			return 0, errBroken
		}
		return len(names), nil
	}
	if err := r.Pass(t.Context()); !errors.Is(err, errBroken) {
		t.Fatalf("Pass with a broken deletion = %v", err)
	}
	if first := f.take(); len(first) != 64 || !slices.Contains(first, "m000{} 0 1") || !slices.Contains(first, "m063{} 0 1") {
		t.Errorf("%d series deleted before the error, want the first 64", len(first))
	}
	count(t, reg, "passes_total", 0)

	f.deletion = nil
	c.at = base.Add(27 * time.Hour)
	pass(t, r)
	second := f.take()
	if len(second) != 86 || !slices.Contains(second, "m064{} 0 1") || !slices.Contains(second, "m149{} 0 1") {
		t.Errorf("%d series deleted after the error, want the other 86 with the same hours: %v", len(second), second)
	}
	count(t, reg, "passes_total", 1)

	pass(t, r)
	if third := f.take(); len(third) != 150 || !slices.Contains(third, "m000{} 1 3") || !slices.Contains(third, "m149{} 1 3") {
		t.Errorf("%d series in the next pass, want all 150 with the hours since", len(third))
	}
	count(t, reg, "passes_total", 2)
}

// TestPassReturnsErrors of the catalogue, and the next pass deletes all.
func TestPassReturnsErrors(t *testing.T) {
	for name, spoil := range map[string]func(f *fake, err error){
		"Metrics": func(f *fake, err error) { f.listErr = err },
		"Find":    func(f *fake, err error) { f.findErr = err },
	} {
		f := &fake{series: []storage.Series{named("m")}}
		r, reg, _ := newRetainer(f, &clock{at: base.Add(25 * time.Hour)}, keepDay("m"))
		spoil(f, errBroken)
		if err := r.Pass(t.Context()); !errors.Is(err, errBroken) {
			t.Errorf("Pass with a broken %s = %v", name, err)
		}
		same(t, "deleted after an error of "+name, f.take())
		count(t, reg, "passes_total", 0)
		spoil(f, nil)
		pass(t, r)
		same(t, "deleted by the next pass", f.take(), "m{} 0 1")
	}
}

// TestPassRests for as long as a deletion took, ten seconds at most, and not at all if there was
// nothing to delete. The end of the context ends a rest, and the pass with it.
func TestPassRests(t *testing.T) {
	for _, c := range []struct {
		took, want time.Duration
		rows       int
	}{{3 * time.Second, 6 * time.Second, 1}, {time.Minute, 70 * time.Second, 5}, {3 * time.Second, 3 * time.Second, 0}} {
		synctest.Test(t, func(t *testing.T) {
			f := &fake{series: []storage.Series{named("m")}}
			f.deletion = func([]string) (int, error) { time.Sleep(c.took); return c.rows, nil }
			r, _, _ := newRetainer(f, &clock{at: base.Add(25 * time.Hour)}, keepDay("m"))
			begin := time.Now()
			pass(t, r)
			if took := time.Since(begin); took != c.want {
				t.Errorf("a pass that deletes %d rows in %v takes %v, want %v", c.rows, c.took, took, c.want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		f := &fake{series: []storage.Series{named("m")}}
		f.deletion = func([]string) (int, error) { time.Sleep(5 * time.Second); return 1, nil }
		r, reg, _ := newRetainer(f, &clock{at: base.Add(25 * time.Hour)}, keepDay("m"))
		ctx, end := context.WithTimeout(t.Context(), 7*time.Second)
		defer end()
		if err := r.Pass(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a pass whose rest is cut short = %v", err)
		}
		count(t, reg, "passes_total", 0)
	})
}

// TestRun makes a pass at once and each hour, tries again a minute after an error and a second after
// the series were not known yet, tells of the same error once, and ends with its context.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name             string
		err              error
		during, want     int // seconds, passes
		errors, messages int
	}{
		{"no error", nil, 2*3600 + 1, 3, 0, 0},
		{"an error", errBroken, 121, 3, 3, 1},
		{"not ready", fmt.Errorf("%w: reading", storage.ErrNotReady), 5, 5, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{series: []storage.Series{named("m")}}
				passes, set := 0, base.Add(25*time.Hour)
				f.deletion = func([]string) (int, error) { passes++; return 0, c.err }
				reg := prometheus.NewRegistry()
				var log bytes.Buffer
				started := time.Now()
				r := retention.New(retention.Options{
					Rules: []retention.Rule{keepDay("m")}, Catalog: f, Delete: f.Delete, Registerer: reg,
					Now: func() time.Time { return set.Add(time.Since(started)) }, Logger: slog.New(slog.NewTextHandler(&log, nil)),
				})
				ctx, end := context.WithTimeout(t.Context(), time.Duration(c.during)*time.Second-time.Millisecond)
				defer end()
				if err := r.Run(ctx); err != nil {
					t.Errorf("Run = %v", err)
				}
				if passes != c.want {
					t.Errorf("%d passes in %d s, want %d", passes, c.during, c.want)
				}
				count(t, reg, "errors_total", c.errors)
				if n := strings.Count(log.String(), "level=ERROR"); n != c.messages {
					t.Errorf("%d messages of errors, want %d:\n%s", n, c.messages, &log)
				}
			})
		})
	}
}
