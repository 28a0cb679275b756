package querytranslate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// literal are names that all languages write alike.
type literal struct{}

func (literal) MetricName(label string) string           { return label }
func (literal) FromMetric(stored string) string          { return stored }
func (literal) TagKey(label string) string               { return label }
func (literal) Label(key string) (label string, ok bool) { return key, true }

var speaker = Speaker{
	Names: literal{}, Tag: func(label string) string { return label },
	Dotted: func(metric string) bool { return strings.HasPrefix(metric, "servers.") },
}

// What one language says is said so in the others; "!" begins why it cannot be said.
func TestSay(t *testing.T) {
	for _, test := range []struct {
		from Language
		text string
		want map[Language]string
	}{
		{PromQL, `up`, map[Language]string{Graphite: `seriesByTag('name=up')`, OpenTSDB: `none:up`}},
		{PromQL, `sum by (dc) (rate(http_requests[5m]))`, map[Language]string{
			Graphite: `groupByTags(perSecond(seriesByTag('name=http_requests')), 'sum', 'dc')`, OpenTSDB: `sum:rate{dropcounter}:http_requests{dc=*}`,
		}},
		{PromQL, `avg(max_over_time({__name__="sys.cpu",host=~"web.*",dc!="lga"}[1h]))`, map[Language]string{
			Graphite: `averageSeries(summarize(seriesByTag('name=sys.cpu', 'host=~^(?:web.*)$', 'dc!=lga'), '3600s', 'max'))`,
			OpenTSDB: `avg:3600s-max:sys.cpu{}{host=regexp(^(web.*)$),dc=not_literal_or(lga)}`,
		}},
		{PromQL, `up{a!~"b"}`, map[Language]string{Graphite: `seriesByTag('name=up', 'a!=~^(?:b)$')`, OpenTSDB: `!OpenTSDB has no filter for a!~"b"`}},
		{PromQL, `up{a=""}`, map[Language]string{Graphite: `seriesByTag('name=up', 'a=')`, OpenTSDB: `!OpenTSDB has no condition for a tag that is not there`}},
		{Graphite, `servers.web00.cpu`, map[Language]string{PromQL: `{__name__="servers.web00.cpu"}`, OpenTSDB: `none:servers.web00.cpu`}},
		{Graphite, `maxSeries(servers.{a,b}.cpu[0-9].*)`, map[Language]string{PromQL: `max({__name__=~"servers\\.(?:a|b)\\.cpu[0-9]\\.[^.]*"})`, OpenTSDB: `!OpenTSDB's queries name one metric`}},
		{Graphite, `aggregate(summarize(seriesByTag("name=x.y","k=~a"),"5min"),"sum")`, map[Language]string{
			PromQL: `sum(sum_over_time({__name__="x.y",k=~"(a).*"}[5m]))`, OpenTSDB: `sum:300s-sum:x.y{}{k=regexp(^((a).*)$)}`,
		}},
		{OpenTSDB, `sum:10m-avg:sys.cpu{dc=*,host=web1|web2}{rack=wildcard(r*)}`, map[Language]string{
			PromQL:   `sum by (dc, host) (avg_over_time({__name__="sys.cpu",host=~"web1|web2",rack=~"r.*"}[10m]))`,
			Graphite: `groupByTags(summarize(seriesByTag('name=sys.cpu', 'rack=~^(?:r.*)$', 'host=~^(?:web1|web2)$'), '600s', 'avg'), 'sum', 'dc', 'host')`,
		}},
		{OpenTSDB, `none:sys.cpu{dc=*}`, map[Language]string{PromQL: `{__name__="sys.cpu",dc=~".+"}`, Graphite: `seriesByTag('name=sys.cpu', 'dc=~^(?:.+)$')`}},
	} {
		q, err := speaker.Read(test.from, test.text)
		if err != nil {
			t.Errorf("%s: %v", test.text, err)
			continue
		}
		for l, want := range test.want {
			got, err := speaker.Say(l, q)
			if err != nil {
				got = "!" + Reason(err)
			}
			if got != want {
				t.Errorf("%s in %s:\n got %s\nwant %s", test.text, l, got, want)
			}
		}
	}
}

// What is more than a selector, a function and an aggregation is refused with a reason, what is no query with an error of its language.
func TestReadRefuses(t *testing.T) {
	for _, test := range []struct {
		l      Language
		text   string
		unsaid bool
	}{
		{PromQL, `a + b`, true},
		{PromQL, `topk(3, a)`, true},
		{PromQL, `sum without (a) (b)`, true},
		{PromQL, `a offset 5m`, true},
		{PromQL, `histogram_quantile(0.9, a)`, true},
		{PromQL, `{a="b"}`, true},
		{PromQL, `rate(a[5m:1m])`, true},
		{PromQL, `1`, true},
		{PromQL, `{__name__=~"a"}`, true},
		{PromQL, `sum(`, false},
		{Graphite, `alias(a.b,"x")`, true},
		{Graphite, `seriesByTag("a=b")`, true},
		{Graphite, `summarize(a,"5x","sum")`, true},
		{Graphite, `percentileSeries(a)`, true},
		{Graphite, `a;b=c`, true},
		{Graphite, `sumSeries(a,b)`, true},
		{Graphite, ``, false},
		{OpenTSDB, `p99:a`, true},
		{OpenTSDB, `sum:1m-avg:rate:a`, true},
		{OpenTSDB, `sum:0all-avg:a`, true},
		{OpenTSDB, `sum:explicit_tags:a`, true},
		{OpenTSDB, `sum`, false},
		{OpenTSDB, `sum:a{b=iwildcard(c*)}`, true},
		{"sql", "select", false},
	} {
		q, err := speaker.Read(test.l, test.text)
		if err == nil || errors.Is(err, ErrNotExpressible) != test.unsaid {
			t.Errorf("%s %q: %+v, %v", test.l, test.text, q, err)
		}
	}
}

// A query that a language can say is read as it was said.
func TestThereAndBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 1))
	said := map[Language]int{}
	for range 20000 {
		q := randomQuery(rng)
		for _, l := range Languages() {
			text, err := speaker.Say(l, q)
			if err != nil {
				continue
			}
			said[l]++
			back, err := speaker.Read(l, text)
			if err != nil {
				t.Fatalf("%+v is %s in %s: %v", q, text, l, err)
			}
			want := q
			if back.Function == Rate {
				back.Window, want.Window = 0, 0
			}
			if diff := cmp.Diff(want, back); diff != "" {
				t.Fatalf("%s in %s (-want +got):\n%s", text, l, diff)
			}
		}
	}
	if said[PromQL] < 19000 || said[Graphite] < 15000 || said[OpenTSDB] < 5000 {
		t.Errorf("few queries were said: %v", said)
	}
}

func randomQuery(rng *rand.Rand) Query {
	q := Query{Metric: pick(rng, "up", "sys.cpu", "servers.a", "http_requests_total")}
	for _, label := range []string{"a", "b", "host"} {
		if rng.IntN(3) == 0 {
			op := pick(rng, Equals, EqualsNot, Matches, MatchesNot)
			value := pick(rng, "x", "web-1", "a b", "it's", "ü")
			if op == Matches || op == MatchesNot {
				value = pick(rng, "x.*", "a|b", "web[0-9]+", ".+")
			}
			q.Conditions = append(q.Conditions, Condition{label, op, value})
		}
	}
	if q.Function = Function(rng.IntN(int(CountOver) + 1)); q.Function != NoFunction {
		q.Window = time.Duration(1+rng.IntN(300)) * time.Second
	}
	if q.Aggregate = Aggregate(rng.IntN(int(Count) + 1)); q.Aggregate != NoAggregate {
		for _, label := range []string{"dc", "rack"} {
			if rng.IntN(2) == 0 {
				q.By = append(q.By, label)
			}
		}
	}
	return q
}

func pick[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

// FuzzRead reads any text without a panic, and what it can say it reads again.
func FuzzRead(f *testing.F) {
	for _, text := range []string{`sum by (a) (rate(b{c="d"}[5m]))`, `groupByTags(perSecond(seriesByTag('name=a','b=~c')),'sum','d')`, `sum:1m-avg:a{b=*}{c=regexp(d)}`, `a.{b,c}.[d-e]*`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, from := range Languages() {
			q, err := speaker.Read(from, text)
			if err != nil {
				continue
			}
			for _, l := range Languages() {
				said, err := speaker.Say(l, q)
				if errors.Is(err, ErrNotExpressible) {
					continue
				}
				if err != nil {
					t.Fatalf("%q of %s in %s: %v", text, from, l, err)
				}
				if _, err := speaker.Read(l, said); err != nil && (l != PromQL || !q.Pattern) {
					t.Fatalf("%q of %s is %q in %s, which is refused: %v", text, from, said, l, err)
				}
			}
		}
	})
}

func ExampleSpeaker() {
	q, _ := speaker.Read(OpenTSDB, "sum:rate:http.requests{dc=*}")
	for _, l := range slices.Sorted(slices.Values(Languages())) {
		text, _ := speaker.Say(l, q)
		fmt.Println(text)
	}
	// Output:
	// groupByTags(perSecond(seriesByTag('name=http.requests')), 'sum', 'dc')
	// sum:rate{dropcounter}:http.requests{dc=*}
	// sum by (dc) (rate({__name__="http.requests"}[5m]))
}
