package status

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Paths about which series there are since when, and which have no points any more:
//
//	GET /api/v1/status/growth[?days=30][&from=DAY][&to=DAY][&limit=20]
//	GET /api/v1/status/silent[?days=7][&limit=20]
const (
	growthPath = "/api/v1/status/growth"
	silentPath = "/api/v1/status/silent"
)

// The bounds of these requests.
const (
	usualShares, mostShares = 20, 1000
	usualDays, mostDays     = 30, 3660
	usualSilent             = 7
)

// What is not known of tables that other processes write to, and why; see docs/decisions/storage/growth-and-silence.md.
const (
	sharedGrowth = "Other processes write to these tables, and a TSD that tracks series stamps their rows anew with every point. So the day is known of the series " +
		"that came while this process ran."
	sharedSilence = "Other processes write points to these tables and leave no trace of the days. Only reading the rows of all series would tell which have none."
)

// dayFormat is how days are written, in UTC.
const dayFormat = time.DateOnly

// A dayCount is how many series were registered in a day.
type dayCount struct {
	Day    string `json:"day"`
	Series int    `json:"series"`
}

// A shareCount is how many series have a metric, a label or a value.
type shareCount struct {
	Name   string `json:"name"`
	Label  string `json:"label,omitempty"` // of values
	Value  string `json:"value,omitempty"`
	Series int    `json:"series"`
}

// shares is what most of some series have.
type shares struct {
	ByMetric []shareCount `json:"byMetric"`
	ByLabel  []shareCount `json:"byLabel"`
	ByValue  []shareCount `json:"byValue"`
}

// growthAnswer is the data of growthPath.
type growthAnswer struct {
	Known      bool       `json:"known"`           // that is, of all series but Unknown ones
	Since      string     `json:"since,omitempty"` // shared tables: when this process had read which series there are
	Reason     string     `json:"reason,omitempty"`
	Series     int        `json:"series"`
	Days       []dayCount `json:"days"`    // the last one last
	Unknown    int        `json:"unknown"` // series of which the day is not known
	From       string     `json:"from"`
	To         string     `json:"to"`
	Registered int        `json:"registered"` // from From to To

	shares
}

// silentAnswer is the data of silentPath.
type silentAnswer struct {
	Known    bool            `json:"known"`
	Reason   string          `json:"reason,omitempty"` // why it is not known
	Days     int             `json:"days"`
	Since    string          `json:"since"`
	Series   int             `json:"series"`
	Silent   int             `json:"silent"`
	Never    int             `json:"never"` // without points at all
	Examples []silentExample `json:"examples"`

	shares
}

type silentExample struct {
	Labels map[string]string `json:"labels"`
	Last   string            `json:"last"` // a day at or after that of the last point; empty: there are no points
}

func (p *Pages) growth(w http.ResponseWriter, r *http.Request) {
	today := storage.DayOf(p.Now())
	q := storage.GrowthQuery{Last: today}
	days, err := numberOf(r, "days", usualDays, mostDays)
	if err == nil {
		q.Limit, err = numberOf(r, "limit", usualShares, mostShares)
	}
	if err == nil {
		q.From, err = dayOf(r, "from", today)
	}
	if err == nil {
		q.To, err = dayOf(r, "to", max(today, q.From))
	}
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	q.First = today - days + 1
	g, err := p.Store.Catalog().Growth(r.Context(), q)
	if err != nil {
		unavailable(w, err)
		return
	}
	x := growthAnswer{Known: true, Series: g.Series, Unknown: g.Unknown, From: dayText(q.From), To: dayText(q.To), Registered: g.Registered.Series, shares: p.sharesOf(g.Registered)}
	if !g.Since.IsZero() {
		x.Since, x.Reason = g.Since.UTC().Format(time.RFC3339), sharedGrowth
	}
	for i, n := range g.ByDay {
		x.Days = append(x.Days, dayCount{dayText(q.First + i), n})
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: x})
}

func (p *Pages) silent(w http.ResponseWriter, r *http.Request) {
	days, err := numberOf(r, "days", usualSilent, mostDays)
	limit := 0
	if err == nil {
		limit, err = numberOf(r, "limit", usualShares, mostShares)
	}
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	since := storage.DayOf(p.Now()) - days + 1
	s, err := p.Store.Catalog().Silence(r.Context(), since, limit)
	if err != nil {
		unavailable(w, err)
		return
	}
	x := silentAnswer{
		Known: s.Known, Days: days, Since: dayText(since), Series: s.Series, Silent: s.Silent.Series, Never: s.Never, shares: p.sharesOf(s.Silent),
		Examples: []silentExample{},
	}
	if !s.Known {
		x.Reason = sharedSilence
	}
	for _, e := range s.Examples {
		last := ""
		if e.Last >= 0 {
			last = dayText(e.Last)
		}
		x.Examples = append(x.Examples, silentExample{p.Names.ToLabels(e.Series).Map(), last})
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: x})
}

// unavailable answers that the store cannot tell now.
func unavailable(w http.ResponseWriter, err error) {
	httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
}

// sharesOf names shares as Prometheus does.
func (p *Pages) sharesOf(s storage.SeriesShares) shares {
	x := shares{[]shareCount{}, []shareCount{}, []shareCount{}}
	for _, n := range s.ByMetric {
		if name := p.Names.FromMetric(n.Key); name != "" {
			x.ByMetric = append(x.ByMetric, shareCount{Name: name, Series: n.Count})
		}
	}
	for _, n := range s.ByKey {
		if name, ok := p.Names.Label(n.Key); ok {
			x.ByLabel = append(x.ByLabel, shareCount{Name: name, Series: n.Count})
		}
	}
	for _, n := range s.ByTag {
		if name, ok := p.Names.Label(n.Key); ok {
			value := p.Names.LabelValue(n.Value)
			x.ByValue = append(x.ByValue, shareCount{Name: name + "=" + value, Label: name, Value: value, Series: n.Count})
		}
	}
	return x
}

// dayOf reads a parameter that is a day.
func dayOf(r *http.Request, name string, usual int) (int, error) {
	text := r.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	day, err := time.Parse(dayFormat, text)
	if err != nil || day.Year() < 1970 {
		return 0, fmt.Errorf("%s=%s is no day such as 2026-01-31", name, strconv.Quote(httpapi.Cut(text, 40)))
	}
	return storage.DayOf(day), nil
}

func dayText(day int) string { return time.Unix(int64(day)*24*3600, 0).UTC().Format(dayFormat) }
