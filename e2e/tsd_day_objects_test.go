package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
)

// some returns a random series that has points; nil if none has.
func (d *day) some() *daySeries {
	var known []*daySeries
	for _, s := range d.all {
		if len(s.points) > 0 {
			known = append(known, s)
		}
	}
	if len(known) == 0 {
		return nil
	}
	return known[d.rng.IntN(len(known))]
}

// send sends a document to a port of OpenTSDB's API.
func (d *day) send(to client, method, path string, document any) reply {
	d.t.Helper()
	var body []byte
	if document != nil {
		var err error
		if body, err = json.Marshal(document); err != nil {
			d.t.Fatal(err)
		}
	}
	r, err := to.do(d.t.Context(), method, path, map[string]string{"Content-Type": "application/json"}, body)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// histogram puts histograms of a series in the present hour, some of them again.
func (d *day) histogram() {
	d.t.Helper()
	s := d.seriesOf("day.latency", "dc", "lga", "host", []string{"h1", "h2"}[d.rng.IntN(2)])
	to, name := d.port()
	for _, known := range slices.Sorted(maps.Keys(s.histograms)) {
		if d.rng.IntN(8) == 0 {
			d.putHistogram(to, s, known)
			d.count["corrections of histograms"]++
		}
	}
	for range 5 {
		if at, ok := d.offset(d.hours[d.hour], true); ok {
			d.putHistogram(to, s, at/1000)
			d.count["histograms by the "+name]++
		}
	}
}

func (d *day) putHistogram(to client, s *daySeries, at int64) {
	d.t.Helper()
	var counts [4]int64
	for i := range counts {
		counts[i] = 1 + d.rng.Int64N(100_000)
	}
	h := madeHistogram{
		Metric: s.metric.text, Timestamp: at, Tags: s.tagTexts(), Underflow: counts[0], Overflow: counts[3],
		Buckets: map[string]int64{"0,1.75": counts[1], "1.75,3.5": counts[2]},
	}
	if r := d.send(to, http.MethodPost, "/api/histogram?sync", []madeHistogram{h}); r.status != http.StatusNoContent {
		d.t.Fatalf("histogram: %v", r)
	}
	d.tell("histogram of %v@%d at %s", s, at, to.base)
	s.histograms[at] = counts
}

// annotate writes, changes or deletes an annotation, of a series or of none.
func (d *day) annotate() {
	d.t.Helper()
	s := d.some()
	if s == nil {
		return
	}
	to, name := d.port()
	notes, tsuid := s.notes, d.s.uids(d.t).tsuid(s)
	if d.rng.IntN(4) == 0 {
		notes, tsuid = d.notes, ""
	}
	at, ok := d.offset(d.hours[d.hour], true)
	if at /= 1000; !ok {
		return
	}
	known := slices.Sorted(maps.Keys(notes))
	what := "annotations"
	if len(known) > 0 && d.rng.IntN(2) == 0 {
		at, what = known[d.rng.IntN(len(known))], "changes of annotations"
		if d.rng.IntN(3) == 0 {
			d.tell("annotation %s@%d deleted at %s", tsuid, at, name)
			if r := d.send(to, http.MethodDelete, notePath(tsuid, at), nil); r.status != http.StatusNoContent {
				d.t.Fatalf("delete annotation %s@%d at the %s: %v", tsuid, at, name, r)
			}
			delete(notes, at)
			d.count["deletions of annotations by the "+name]++
			return
		}
	}
	d.serial++
	text := fmt.Sprintf("note %d", d.serial)
	note := map[string]any{"startTime": at, "description": text}
	if tsuid != "" {
		note["tsuid"] = tsuid
	}
	d.send(to, http.MethodPost, "/api/annotation", note).ok(d.t)
	d.tell("annotation %s@%d at %s: %s", tsuid, at, name, text)
	notes[at] = text
	d.count[what+" by the "+name]++
}

func notePath(tsuid string, at int64) string {
	form := url.Values{"start_time": {strconv.FormatInt(at, 10)}}
	if tsuid != "" {
		form.Set("tsuid", tsuid)
	}
	return "/api/annotation?" + form.Encode()
}

// rollUp stores values of the present hour of some series, or new ones of an earlier hour.
func (d *day) rollUp() {
	d.t.Helper()
	to, name := d.port()
	at := d.hours[d.rng.IntN(d.hour+1)] / 1000
	var values []rolledUp
	taken := map[*daySeries]bool{} // of two values of an instant in one request a TSD takes either
	for range 5 {
		s := d.some()
		if s == nil {
			return
		}
		if taken[s] {
			continue
		}
		taken[s] = true
		if s.rolled[at] == nil {
			s.rolled[at] = map[string]int64{}
		}
		for _, aggregation := range []string{"sum", "count", "min", "max"} {
			// Of one length: a TSD that changes a value leaves the one of another length there, and refuses to read both.
			n := 100_000 + d.rng.Int64N(900_000)
			s.rolled[at][aggregation] = n
			values = append(values, rolledUp{
				tsdPoint: tsdPoint{Metric: s.metric.text, Timestamp: at, Value: jsonNumber(int(n)), Tags: s.tagTexts()},
				Interval: "1h", Aggregator: aggregation,
			})
		}
	}
	d.tell("rolled up at %s: %v", name, values)
	tsd{client: to}.rollup(d.t, values)
	d.count["rolled up values by the "+name] += len(values)
}

// describeName gives a name a description, in its UIDMeta.
func (d *day) describeName() {
	d.t.Helper()
	s := d.some()
	if s == nil {
		return
	}
	to, name := d.port()
	kind, uid := "METRIC", d.s.uids(d.t)["metrics "+s.metric.text]
	if host := s.tags["host"]; host != nil && d.rng.IntN(2) == 0 {
		kind, uid = "TAGV", d.s.uids(d.t)["tagv "+host.text]
	}
	d.serial++
	text := fmt.Sprintf("text %d", d.serial)
	d.send(to, http.MethodPost, "/api/uid/uidmeta", map[string]string{"type": kind, "uid": fmt.Sprintf("%06X", uid), "description": text}).ok(d.t)
	d.tell("UIDMeta of %s %X at %s: %s", kind, uid, name, text)
	d.texts[fmt.Sprintf("%s %06X", kind, uid)] = text
	d.count["edits of UIDMeta by the "+name]++
}

// describeSeries gives a series that has a TSMeta a description.
func (d *day) describeSeries() {
	d.t.Helper()
	s := d.some()
	if s == nil {
		return
	}
	tsuid := d.s.uids(d.t).tsuid(s)
	if r := d.tsd.Get(d.t, "/api/uid/tsmeta?tsuid="+tsuid); r.status == http.StatusNotFound {
		d.tell("%v has no TSMeta", s)
		d.count["series without TSMeta when it was to be edited"]++
		return
	}
	to, name := d.port()
	d.serial++
	text := fmt.Sprintf("text %d", d.serial)
	d.send(to, http.MethodPost, "/api/uid/tsmeta", map[string]string{"tsuid": tsuid, "description": text}).ok(d.t)
	d.tell("TSMeta of %v at %s: %s", s, name, text)
	s.note = text
	d.count["edits of TSMeta by the "+name]++
}

// describeTree gives a tree a description.
func (d *day) describeTree() {
	d.t.Helper()
	ids := slices.Sorted(maps.Keys(d.trees))
	id := ids[d.rng.IntN(len(ids))]
	to, name := d.port()
	d.serial++
	text := fmt.Sprintf("text %d", d.serial)
	d.send(to, http.MethodPost, "/api/tree", map[string]any{"treeId": id, "description": text}).ok(d.t)
	d.tell("tree %d at %s: %s", id, name, text)
	d.trees[id] = text
	d.count["edits of trees by the "+name]++
}

// defineTree defines one more tree over an adapter.
func (d *day) defineTree() {
	d.t.Helper()
	at := d.adapter()
	to := tsd{client: d.ports()[at]}
	id := to.DefineTree(d.t, treeSpec{Name: "second", Description: "host, metric", Enabled: true, rules: []ruleSpec{
		{Type: "TAGK", Field: "host"}, {Level: 1, Type: "METRIC", Separator: `\.`},
	}})
	d.tell("tree %d by %s", id, d.adapterName(at))
	d.trees[id] = "host, metric"
	d.count["trees made by an adapter"]++
}
