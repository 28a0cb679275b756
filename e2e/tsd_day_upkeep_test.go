package e2e_test

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// quiet waits until no adapter has points that are not in the table. A TSD's compaction takes a second or two, and
// what is put into a row in this time may be deleted with the cells that it began with, see docs/hbase.md.
func (d *day) quiet() {
	d.t.Helper()
	for at, a := range d.adapters {
		eventually(d.t, waitTimeout, d.adapterName(at)+" has put all points", func() error {
			if rows := metricOf(d.t, a.client, "tsdbridge_head_rows"); rows > 0 {
				return fmt.Errorf("%v rows are left", rows)
			}
			return nil
		})
	}
}

// compacts reports whether the TSD compacts the rows of an hour when it reads them.
func (d *day) compacts(hour int64) bool {
	return time.Since(time.UnixMilli(hour)) > time.Hour+time.Second
}

// readable returns an hour that has begun, of which it is certain whether the TSD compacts it.
func (d *day) readable() (hour int64, ok bool) {
	hour = d.hours[d.rng.IntN(d.hour+1)]
	return hour, (time.Since(time.UnixMilli(hour)) - time.Hour).Abs() > 2*waitTimeout
}

// compact has the TSD read all points of an hour, and waits until it has compacted its rows.
func (d *day) compact() {
	d.t.Helper()
	hour, ok := d.readable()
	if !ok {
		return
	}
	d.quiet()
	d.compactHour(hour)
	d.count["hours compacted by the TSD"]++
}

// waitCompacted waits until the TSD has compacted all rows that it compacts, after it has read them.
func (d *day) waitCompacted() {
	d.t.Helper()
	eventually(d.t, waitTimeout, "compaction by the TSD", func() error {
		for key, cells := range d.pointCells() {
			base := int64(binary.BigEndian.Uint32([]byte(key[3:])))
			if cells > 1 && d.compacts((base+int64(2*waitTimeout/time.Second))*1000) {
				return fmt.Errorf("row %x has %d cells", key, cells)
			}
		}
		return nil
	})
}

func (d *day) compactHour(hour int64) {
	d.t.Helper()
	for _, metric := range d.metrics() {
		d.compactRows(metric, hour, func(s *daySeries) bool { return s.metric.text == metric })
	}
}

// compactRows has the TSD compact the rows of an hour of the series that a selector means, unless it refuses to since
// an instant has two values.
func (d *day) compactRows(selector string, hour int64, means func(s *daySeries) bool) {
	d.t.Helper()
	u, keys := d.s.uids(d.t), map[string]bool{}
	for _, s := range d.all {
		if means(s) {
			keys[u.key(dayRow{s, hour})] = true
		}
	}
	ask := oneByOne(func() reply {
		return d.readTSD(http.MethodGet, selector, hour, hour+time.Hour.Milliseconds()-1)
	})
	eventually(d.t, waitTimeout, "compaction of "+selector, func() error {
		r := ask()
		if isDuplicate(r) || !d.compacts(hour) {
			d.tell("TSD: %s of %d: %d", selector, hour, r.status)
			return nil
		}
		for key, cells := range d.pointCells() {
			if keys[key] && cells > 1 {
				return fmt.Errorf("row %x has %d cells", key, cells)
			}
		}
		d.tell("TSD: %s of %d is compacted", selector, hour)
		return nil
	})
}

func (d *day) pointCells() map[string]int {
	d.t.Helper()
	points, _ := d.s.dataCells(d.t)
	return points
}

// readTSD sends a query of raw points to the TSD, which may be a deletion.
func (d *day) readTSD(method, selector string, start, end int64) reply {
	d.t.Helper()
	r, err := d.tsd.do(d.t.Context(), method, "/api/query?"+url.Values{
		"m": {"none:" + selector}, "start": {fmt.Sprint(start)}, "end": {fmt.Sprint(end)},
	}.Encode(), nil, nil)
	if err != nil {
		d.t.Fatal(err)
	}
	if r.status != http.StatusOK && !isDuplicate(r) && !strings.Contains(string(r.body), "No such name") {
		d.t.Fatalf("TSD: %s %s: %v", method, selector, r)
	}
	return r
}

// flush has HBase write what it has in memory to files.
func (d *day) flush() {
	d.t.Helper()
	d.quiet() // what waits in a log is reconciled with what HBase forgets now
	d.tell("HBase flushes")
	if err := d.s.cluster.Flush(d.t.Context(), d.s.name); err != nil {
		d.t.Fatal(err)
	}
	d.count["flushes of HBase"]++
}

// kill kills an adapter, while points are written to it or not.
func (d *day) kill() {
	d.t.Helper()
	at := d.adapter()
	doors := d.doors()
	door := &doors[2+4*at] // remote write, which repeats what is not acknowledged
	points := d.fresh(door, map[dayKey]bool{})
	d.tell("%s is killed while %v is written", d.adapterName(at), points)
	written := make(chan error, 1)
	go func() { written <- door.write(points) }()
	time.Sleep(time.Duration(d.rng.IntN(8000)) * time.Microsecond)
	d.adapters[at].Kill()
	err := <-written
	d.adapters[at].Restart(d.t)
	if err != nil {
		d.count["writes under way when an adapter was killed"]++
		for _, p := range points {
			for _, name := range p.s.named() {
				d.interrupted[name] = true
			}
		}
		time.Sleep(ackGap)
		if err := door.write(points); err != nil {
			d.t.Fatal(err)
		}
	}
	d.counted(door, points, false)
	d.acknowledged(points)
	d.shown(at, points)
	d.count["kills of adapters"]++
}

// erase has an adapter delete part of an hour, or some hours, of a series.
func (d *day) erase() {
	d.t.Helper()
	s := d.some()
	if s == nil {
		return
	}
	at := d.adapter()
	hour := d.hours[d.rng.IntN(d.hour+1)]
	start, end := hour, hour+time.Hour.Milliseconds()-1
	switch d.rng.IntN(4) {
	case 0:
		end += time.Hour.Milliseconds()
	case 1:
	default:
		start += d.rng.Int64N(1800) * 1000
		end = start + d.rng.Int64N(1800)*1000
	}
	path := "/api/query?" + url.Values{"m": {"none:" + s.selector()}, "start": {fmt.Sprint(start)}, "end": {fmt.Sprint(end)}}.Encode()
	d.tell("%s: %v deleted from %d to %d", d.adapterName(at), s, start, end)
	if r := d.send(d.ports()[at], http.MethodDelete, path, nil); r.status != http.StatusOK {
		d.t.Fatalf("delete: %v", r)
	}
	s.forget(start, end)
	s.forgetRolled(start, end)
	d.count["deletions by adapters"]++
}

// eraseTSD has the TSD delete an hour of a series. It is compacted before: else the TSD compacts what it deletes.
func (d *day) eraseTSD() {
	d.t.Helper()
	s := d.some()
	if s == nil {
		return
	}
	hour, ok := d.readable()
	if !ok {
		return
	}
	d.quiet()
	d.compactRows(s.selector(), hour, func(other *daySeries) bool { return other == s })
	time.Sleep(ackGap)
	key := d.s.uids(d.t).key(dayRow{s, hour})
	d.tell("TSD: %v deletes the hour %d", s, hour)
	d.readTSD(http.MethodDelete, s.selector(), hour, hour+1000)
	eventually(d.t, waitTimeout, "deletion by the TSD", func() error {
		for _, c := range d.s.cells(d.t, d.s.name) {
			if c.row == key {
				return fmt.Errorf("row %x is there", key)
			}
		}
		return nil
	})
	s.forget(hour, hour+time.Hour.Milliseconds()-1)
	delete(d.behind, dayRow{s, hour})
	d.count["hours deleted by the TSD"]++
}

// rename gives a metric or a host another name, and waits until all know it.
func (d *day) rename() {
	d.t.Helper()
	s := d.some()
	if s == nil || s.tags[noTag] != nil { // its path is its name
		return
	}
	n, kind := s.metric, "metric"
	if d.rng.IntN(2) == 0 {
		n, kind = s.tags["host"], "tagv"
	}
	if n.text == "day.latency" || n.text == "h1" || n.text == "h2" {
		return // of the histograms
	}
	to, by := d.port()
	d.serial++
	old, path := n.text, s.path()
	renamed := fmt.Sprintf("%s-%d", strings.SplitN(old, "-", 2)[0], d.serial)
	d.known(s) // an adapter follows the renames of names that it has used, or that were there five minutes before it
	d.tell("%s renames %s %s to %s", by, kind, old, renamed)
	r := d.send(to, http.MethodPost, "/api/uid/rename", map[string]string{kind: old, "name": renamed})
	if !strings.Contains(string(r.body), `"true"`) {
		d.t.Fatalf("rename of %s %s to %s by %s: %v", kind, old, renamed, by, r)
	}
	n.text = renamed
	d.tsd.Get(d.t, "/api/dropcaches").ok(d.t)
	d.known(s) // asks for the new name before adapters look for renames
	for at, a := range d.adapters {
		eventually(d.t, waitTimeout, d.adapterName(at)+" has moved "+path, func() error {
			if found := slices.Concat(a.find(d.t, path), a.find(d.t, s.path())); !slices.Equal(found, []string{s.path()}) {
				return fmt.Errorf("it finds %v", found)
			}
			return nil
		})
	}
	d.count[fmt.Sprintf("renames of a %s by the %s", kind, by)]++
}

// known waits until both adapters find a series by its name and tags.
func (d *day) known(s *daySeries) {
	d.t.Helper()
	for at, a := range d.adapters {
		eventually(d.t, waitTimeout, d.adapterName(at)+" knows "+s.labels(), func() error {
			r := newClient(a.opentsdbAddr(d.t)).Get(d.t, "/api/search/lookup?m="+url.QueryEscape(s.selector()))
			if !strings.Contains(string(r.body), `"totalResults":1`) {
				return fmt.Errorf("answer %v", r)
			}
			return nil
		})
	}
}
