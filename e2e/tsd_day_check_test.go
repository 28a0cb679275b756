package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// span returns the times between which the day is.
func (d *day) span() (from, to time.Time) {
	return time.UnixMilli(d.hours[0]), time.UnixMilli(d.hours[len(d.hours)-1] + time.Hour.Milliseconds() - 1)
}

// look checks that an adapter shows all points of a random metric, soon: what the other one has in its log, and what it
// deleted of points in the log of this one, takes seconds.
func (d *day) look() {
	d.t.Helper()
	metrics := d.metrics()
	d.checkAdapter(d.adapter(), metrics[d.rng.IntN(len(metrics))])
	d.count["metrics compared in the middle of the day"]++
}

// checkAdapter compares the points of a metric that an adapter shows in three languages.
func (d *day) checkAdapter(at int, metric string) {
	d.t.Helper()
	from, to := d.span()
	a, want, who := d.adapters[at], d.want(metric), metric+" by "+d.adapterName(at)
	want.wait(d.t, who+", remote read", func() (pointSet, error) { return ourPoints(d.t, a.client, metric, from, to), nil })
	want.shown().wait(d.t, who+", PromQL", func() (pointSet, error) {
		return queriedPoints(d.t, a.client, fmt.Sprintf("{%q}", metric), from, to), nil
	})
	want.finite().wait(d.t, who+", /api/query", func() (pointSet, error) { return d.apiPoints(newClient(a.opentsdbAddr(d.t)), metric) })
}

// apiPoints returns the points of a metric as OpenTSDB's API returns them.
func (d *day) apiPoints(c client, metric string) (pointSet, error) {
	d.t.Helper()
	from, to := d.span()
	found, err := tsd{client: c}.points(d.t, metric, from, to)
	if err != nil && strings.Contains(err.Error(), "No such name") {
		return pointSet{}, nil
	}
	all := pointSet{}
	for labels, points := range found {
		if len(points) > 0 {
			all[strings.Replace(labels, noTag+`="1", `, "", 1)] = points
		}
	}
	return all, err
}

// end ends the day: all adapters end in order, so that everything is put, and start again. Then all answers and
// tables are checked.
func (d *day) end() {
	d.t.Helper()
	for _, at := range d.rng.Perm(len(d.adapters)) {
		d.adapters[at].Stop(d.t)
	}
	for _, at := range d.rng.Perm(len(d.adapters)) {
		d.adapters[at].Restart(d.t)
	}
	d.tsd.Get(d.t, "/api/dropcaches").ok(d.t)
	d.settle()
	d.quiet()
	// A TSD forgets series that come while it loads the trees, and knows nothing of the tree of plain names.
	d.t.Logf("the first tree sync: %s", lastLines(d.s.run(d.t, "tree", "sync"), 6))
	d.checkAll("the end of the day")
	d.waitCompacted()
	d.checkTables()
	d.checkAll("the checks of the tables")
}

// settle mends the rows in which a TSD corrected a point of a cell of many: both stand in the row, and the TSD
// refuses to read it, until an adapter that has not written to the row before does, or fsck mends it, which leaves rows alone
// that are younger than ten minutes.
func (d *day) settle() {
	d.t.Helper()
	d.count["rows in which the TSD corrected points"] = len(d.behind)
	// After a long day the checks report what a TSD left behind in its first hours.
	if d.mended = scale.Full() || time.Since(d.begin) > fsckQuiet/2; d.mended {
		// all are written by now
		for left := fsckQuiet + time.Minute; left > 0; left -= time.Minute {
			time.Sleep(time.Minute)
		}
		found, printed := d.s.fsck(d.t, -1, "--table=data", "--fix=duplicate")
		d.t.Logf("fsck mends %d rows: %s", len(found), lastLines(printed, 5))
		d.s.fixUIDs(d.t)
		return
	}
	door := d.doors()[2+4*dayThrough]
	taken := map[dayKey]bool{}
	var all []dayPoint
	for row := range d.behind {
		key := dayKey{row.s, row.hour + settledOffset}
		taken[key] = true
		all = append(all, dayPoint{key, d.number()})
	}
	if len(all) == 0 {
		return
	}
	if err := door.write(all); err != nil {
		d.t.Fatal(err)
	}
	d.acknowledged(all)
}

// fixUIDs runs "uid fsck --fix", whose exit code is 1 if there was something.
func (s tables) fixUIDs(t testing.TB) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), adapterBinary(t), append([]string{"uid", "fsck", "--fix"}, s.args()...)...).CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("uid fsck --fix: %v\n%s", err, out)
	}
	t.Logf("uid fsck --fix: %s", lastLines(string(out), 5))
}

// fsckQuiet is for how long a row must not have been written to before fsck mends it.
const fsckQuiet = 10 * time.Minute

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// checkAll compares all that was acknowledged with what both adapters and the TSD answer.
func (d *day) checkAll(when string) {
	d.t.Helper()
	for _, metric := range d.metrics() {
		for at := range d.adapters {
			d.checkAdapter(at, metric)
		}
		want := d.want(metric).finite()
		want.wait(d.t, when+": TSD, "+metric, func() (pointSet, error) { return d.apiPoints(d.tsd.client, metric) })
		d.count["series compared"] += len(want)
	}
	for at, port := range d.ports() {
		who := fmt.Sprintf("%s: %s", when, []string{"through", "buffered", "TSD"}[at])
		d.checkHistograms(who, port)
		d.checkRolled(who, port)
		d.checkDocuments(who, port)
	}
	d.checkTrees(when)
}

// checkHistograms compares the counts of all histograms.
func (d *day) checkHistograms(who string, port client) {
	d.t.Helper()
	want := pointSet{}
	for _, s := range d.all {
		for at, counts := range s.histograms {
			for i, bucket := range []string{"UNDERFLOW", "0.0_1.75", "1.75_3.5", "OVERFLOW"} {
				ls := s.named()
				ls["__name__"] += "_" + bucket
				want.add(labelText(ls), at*1000, float64(counts[i]))
			}
		}
	}
	from, to := d.span()
	q := madeQuery{"start": from.UnixMilli(), "end": to.UnixMilli(), "msResolution": true, "queries": []any{
		map[string]any{"aggregator": "none", "metric": "day.latency", "showHistogramBuckets": true},
	}}
	d.compare(who+", histograms", want, postQuery(d.t, port, q))
}

// compare compares points with an answer of /api/query.
func (d *day) compare(what string, want pointSet, r reply) {
	d.t.Helper()
	var all []struct {
		Metric string
		Tags   map[string]string
		DPs    map[string]json.Number
	}
	if r.status == http.StatusOK {
		if err := json.Unmarshal(r.body, &all); err != nil {
			d.t.Fatalf("%s: %v in %.500v", what, err, r)
		}
	}
	got := pointSet{}
	for _, one := range all {
		for at, v := range one.DPs {
			var ms int64
			if _, err := fmt.Sscan(at, &ms); err != nil {
				d.t.Fatal(err)
			}
			value, err := v.Float64()
			if err != nil {
				d.t.Fatal(err)
			}
			ls := maps.Clone(one.Tags)
			if delete(ls, noTag); ls == nil {
				ls = map[string]string{}
			}
			ls["__name__"] = one.Metric
			got.add(labelText(ls), ms, value)
		}
	}
	if diff := want.diff(got); diff != "" {
		d.t.Errorf("%s differ (-want +got), status %d:\n%s", what, r.status, diff)
	}
}

// checkRolled compares the sums of hours.
func (d *day) checkRolled(who string, port client) {
	d.t.Helper()
	from, to := d.span()
	for _, aggregation := range []string{"sum", "max"} {
		for _, metric := range d.metrics() {
			want := pointSet{}
			for _, s := range d.all {
				for at, values := range s.rolled {
					if s.metric.text == metric {
						want.add(s.labels(), at*1000, float64(values[aggregation]))
					}
				}
			}
			if len(want) == 0 {
				continue
			}
			q := madeQuery{"start": from.UnixMilli(), "end": to.UnixMilli(), "msResolution": true, "queries": []any{
				map[string]any{"aggregator": "none", "metric": metric, "downsample": "1h-" + aggregation, "rollupUsage": "ROLLUP_NOFALLBACK"},
			}}
			d.compare(who+", rolled up "+metric, want, postQuery(d.t, port, q))
		}
	}
}

// checkDocuments compares annotations and the descriptions of names, series and trees.
func (d *day) checkDocuments(who string, port client) {
	d.t.Helper()
	u := d.s.uids(d.t)
	check := func(path, want string) {
		d.t.Helper()
		r := port.Get(d.t, path)
		var got struct{ Description string }
		if err := json.Unmarshal(r.body, &got); err != nil || r.status != http.StatusOK || got.Description != want {
			d.t.Errorf("%s: %s: %v, want %s", who, path, r, want)
		}
		d.count["documents compared"]++
	}
	for at, text := range d.notes {
		check(notePath("", at), text)
	}
	for _, s := range d.all {
		for at, text := range s.notes {
			check(notePath(u.tsuid(s), at), text)
		}
		if s.note != "" {
			check("/api/uid/tsmeta?tsuid="+u.tsuid(s), s.note)
		}
	}
	for id, text := range d.texts {
		kind, uid, _ := strings.Cut(id, " ")
		check("/api/uid/uidmeta?"+url.Values{"type": {kind}, "uid": {uid}}.Encode(), text)
	}
	for id, text := range d.trees {
		check(fmt.Sprintf("/api/tree?treeid=%d", id), text)
	}
	notes := 0
	for _, c := range d.s.cells(d.t, d.s.name) {
		if len(c.qualifier)%2 == 1 && c.qualifier[0] == 1 {
			notes++
		}
	}
	want := len(d.notes)
	for _, s := range d.all {
		want += len(s.notes)
	}
	if notes != want {
		d.t.Errorf("%s: %d annotations in the table, want %d", who, notes, want)
	}
}

// checkTrees compares where the first tree has the series with their names.
func (d *day) checkTrees(when string) {
	d.t.Helper()
	u, want := d.s.uids(d.t), map[string]bool{}
	known := map[string]bool{}
	for _, c := range d.s.cells(d.t, d.s.name+"-meta") {
		known[fmt.Sprintf("%X", c.row)] = true
	}
	for _, s := range d.all {
		if tsuid := u.tsuid(s); known[tsuid] {
			want[s.path()+" "+tsuid] = true
		}
	}
	for _, who := range []string{"tsdbridge", "TSD"} {
		lines := d.s.showTree(d.t, 1)
		if who == "TSD" {
			lines = d.tsd.Browse(d.t, 1)
		}
		got := map[string]bool{}
		for _, line := range lines {
			if words := strings.Fields(line); len(words) > 1 && !strings.HasSuffix(words[0], ".*") {
				got[words[0]+" "+words[1]] = true
			}
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
			d.t.Errorf("%s: the tree as %s shows it (-want +got):\n%.4000s", when, who, diff)
		}
	}
}

// checkTables runs the checks of both, and those commands that mend, which must find nothing to do the second time.
func (d *day) checkTables() {
	d.t.Helper()
	if found, printed := d.s.fsck(d.t, 0); len(found) > 0 {
		d.t.Logf("fsck notes:\n%s", printed)
	}
	d.checkUIDs()
	d.checkTheirFsck()
	d.mend()
	before := d.dayCells()
	d.mend()
	if diff := cmp.Diff(before, d.dayCells()); diff != "" {
		d.t.Errorf("the second run of the commands that mend changed cells (-before +after):\n%.4000s", diff)
	}
	d.checkTheirFsck()
}

// checkUIDs checks the rows of tsdb-uid. When several processes name something at once a TSD may lose, and leaves the
// reverse row of a UID that is not used, as an adapter does that is killed in between. Both checks find it, and
// tsdbridge's takes it away when it is ten minutes old.
func (d *day) checkUIDs() {
	d.t.Helper()
	forward, unused := d.s.uidRows(d.t)
	for name, uid := range forward {
		kind, bare, _ := strings.Cut(name, " ")
		if id := kind + " " + uid; unused[id] != bare {
			d.t.Errorf("%s has UID %x, whose name is %q", name, uid, unused[id])
		} else {
			delete(unused, id)
		}
	}
	d.count["UIDs that are not used"] = len(unused)
	leaked := d.s.leaked(d.t, d.tsd, d.logs)
	for id, name := range unused {
		if d.mended {
			d.t.Errorf("%x is of no name, its row has %s", id, name)
		} else if leaked[id] != name && !d.interrupted[name] {
			d.t.Errorf("%x is of no name, its row has %s, and the TSD did not leak it", id, name)
		}
	}
	if out := d.s.run(d.t, "uid", "fsck"); !strings.Contains(out, " 0 errors") && !strings.Contains(out, "No errors found") {
		d.t.Errorf("uid fsck of tsdbridge:\n%s", out)
	}
	if len(unused) == 0 {
		checkUIDFsck(d.t, d.tsd)
		return
	}
	out, err := d.tsd.Tool(d.t.Context(), "UidManager", "--verbose", "fsck")
	// of a name that has another UID, or of one that was renamed since
	wrong, nameless := strings.Count(out, "Inconsistent reverse"), strings.Count(out, "is missing forward mapping")
	if strings.Count(out, "ERROR") != wrong+strings.Count(out, " errors.\n") || wrong+nameless < len(unused) {
		d.t.Errorf("uid fsck of OpenTSDB, %d UIDs are not used: %v\n%s", len(unused), err, out)
	}
}

// mend runs the commands that mend tables, and logs what they did.
func (d *day) mend() {
	d.t.Helper()
	_, printed := d.s.fsck(d.t, 0, "--fix=all")
	d.t.Logf("fsck --fix=all:\n%s", lastLines(printed, 6))
	for _, command := range [][]string{{"meta", "sync", "--fix"}, {"tree", "sync"}} {
		d.t.Logf("%v: %s", command, lastLines(d.s.run(d.t, command...), 6))
	}
}

// dayCells returns the cells of the four tables.
func (d *day) dayCells() map[string]string {
	d.t.Helper()
	all := map[string]string{}
	for _, table := range []string{"", "-uid", "-meta", "-tree"} {
		for _, c := range d.s.cells(d.t, d.s.name+table) {
			all[fmt.Sprintf("%s %X %s %X", d.s.name+table, c.row, c.family, c.qualifier)] = fmt.Sprintf("%X", c.value)
		}
	}
	return all
}

// checkTheirFsck runs OpenTSDB's check of the rows of each metric: rows of global annotations end that of a whole
// table. It must have read all points, since it may end early without an error.
func (d *day) checkTheirFsck() {
	d.t.Helper()
	args, points := []string{"--threads=1", fmt.Sprint(d.hours[0] / 1000)}, 0
	u := d.s.uids(d.t)
	for _, metric := range d.metrics() {
		if u["metrics "+metric] == "" {
			continue // of a series without points
		}
		args = append(args, "sum", metric)
		points += d.want(metric).finite().count()
	}
	ctx, cancel := context.WithTimeout(d.t.Context(), 5*waitTimeout) // it does not end after some errors
	defer cancel()
	out, err := d.tsd.Tool(ctx, "Fsck", args...)
	if err != nil || !strings.Contains(out, "Total Errors: 0") || strings.Contains(out, "Shouldn't be here") {
		d.t.Errorf("OpenTSDB's fsck: %v\n%.6000s", err, out)
	}
	d.t.Logf("OpenTSDB's fsck: %v", regexp.MustCompile(`Fsck: [A-Z][\w ]*: [1-9]\d*`).FindAllString(out, -1))
	if want := fmt.Sprintf("Valid Datapoints: %d\n", points); !strings.Contains(out, want) {
		d.t.Errorf("OpenTSDB's fsck has not found %s", want)
	}
}
