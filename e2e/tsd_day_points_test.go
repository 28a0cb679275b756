package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// dayPoint is a point that is written.
type dayPoint struct {
	dayKey
	v float64
}

func (p dayPoint) String() string { return fmt.Sprintf("%v@%d=%v", p.s, p.at, p.v) }

// A dayDoor is where points come in.
type dayDoor struct {
	name   string
	writer int // dayThrough, dayBuffered; dayWriters: the TSD
	// any value and any millisecond; else finite values, of whole seconds for carbon
	special, seconds bool
	write            func(all []dayPoint) error
}

// doors are all of them.
func (d *day) doors() []dayDoor {
	doors := []dayDoor{
		{name: "put over HTTP", writer: dayWriters, write: func(all []dayPoint) error { return d.tsd.put(d.t, d.putPoints(all)) }},
		{name: "put over telnet", writer: dayWriters, write: func(all []dayPoint) error { return d.putLines(d.tsd.Addr(), all) }},
	}
	for at := range d.adapters {
		doors = append(doors,
			dayDoor{name: "remote write", writer: at, special: true, write: func(all []dayPoint) error { return d.remoteWrite(at, all) }},
			dayDoor{name: "carbon lines", writer: at, seconds: true, write: func(all []dayPoint) error { return d.carbonLines(at, all) }},
			dayDoor{name: "put over HTTP", writer: at, write: func(all []dayPoint) error { return d.putHTTP(at, all) }},
			dayDoor{name: "put over telnet", writer: at, write: func(all []dayPoint) error {
				return d.putLines(d.adapters[at].opentsdbAddr(d.t), all)
			}},
		)
	}
	return doors
}

// number returns a value that was not used before, of every form but integers of 8 bytes, about which OpenTSDB's
// fsck complains next to other points.
func (d *day) number() float64 {
	d.serial++
	n := float64(d.serial)
	return []float64{n, -n, 70_000 + n, n + 0.5, n + 0.1, 5e9 + n + 0.25}[d.rng.IntN(6)]
}

// offset returns an instant of an hour in milliseconds. Cells that begin from 80 to 95 s after the hour are those
// that OpenTSDB takes for append cells; testTSDMistaken is about them.
func (d *day) offset(hour int64, seconds bool) (at int64, ok bool) {
	offset := d.rng.Int64N(3600) * 1000
	if !seconds && d.rng.IntN(4) == 0 {
		offset += d.rng.Int64N(1000)
	}
	at = hour + offset
	return at, (offset < 80_000 || offset >= 96_000) && at < d.begin.UnixMilli()
}

// fresh makes points of the present hour for a door; correct changes known ones of any hour.
func (d *day) fresh(door *dayDoor, taken map[dayKey]bool) (all []dayPoint) {
	for range 1 + d.rng.IntN(60) {
		s := d.all[d.rng.IntN(len(d.all))]
		at, ok := d.offset(d.hours[d.hour], door.seconds)
		key := dayKey{s, at}
		if _, known := s.points[at]; !ok || known || taken[key] {
			continue
		}
		taken[key] = true
		all = append(all, dayPoint{key, d.value(door)})
	}
	return all
}

func (d *day) value(door *dayDoor) float64 {
	if door.special {
		switch d.rng.IntN(20) {
		case 0:
			return math.Float64frombits(value.StaleNaN)
		case 1:
			return math.Inf(1 - 2*d.rng.IntN(2))
		}
	}
	return d.number()
}

func (d *day) correct(door *dayDoor, taken map[dayKey]bool) (all []dayPoint) {
	for range 1 + d.rng.IntN(12) {
		s := d.all[d.rng.IntN(len(d.all))]
		known := slices.Sorted(maps.Keys(s.points))
		if len(known) == 0 {
			continue
		}
		key := dayKey{s, known[d.rng.IntN(len(known))]}
		if taken[key] || door.seconds && key.at%1000 > 0 {
			continue
		}
		taken[key] = true
		all = append(all, dayPoint{key, d.value(door)})
	}
	return all
}

// crowd writes through some doors at once, new points or corrections.
func (d *day) crowd(corrections bool) {
	d.t.Helper()
	if d.rng.IntN(3) == 0 {
		d.newSeries()
	}
	doors := d.doors()
	d.rng.Shuffle(len(doors), func(i, j int) { doors[i], doors[j] = doors[j], doors[i] })
	taken := map[dayKey]bool{}
	var writers sync.WaitGroup
	written := map[int][]dayPoint{} // by the adapter that must show them
	for i := range doors[:1+d.rng.IntN(5)] {
		door := &doors[i]
		all := d.fresh
		if corrections {
			all = d.correct
		}
		points := all(door, taken)
		if len(points) == 0 {
			continue
		}
		at := door.writer % dayWriters // what a TSD put is in the table
		written[at] = append(written[at], points...)
		d.counted(door, points, corrections)
		writers.Go(func() {
			d.tell("%s %d: %v", door.name, door.writer, points)
			if err := door.write(points); err != nil {
				d.t.Errorf("%s by %d: %v", door.name, door.writer, err)
			}
		})
	}
	writers.Wait()
	for _, points := range written {
		d.acknowledged(points)
	}
	for at, points := range written {
		d.shown(at, points)
	}
}

func (d *day) counted(door *dayDoor, points []dayPoint, corrections bool) {
	what := "new points by "
	if corrections {
		what = "corrections by "
	}
	d.count[what+map[bool]string{true: "the TSD: ", false: "adapters: "}[door.writer == dayWriters]+door.name] += len(points)
	d.count["points"] += len(points)
	if door.writer == dayWriters && corrections {
		for _, p := range points {
			d.behind[p.row()] = true
		}
	}
}

func (k dayKey) row() dayRow {
	return dayRow{k.s, k.at / time.Hour.Milliseconds() * time.Hour.Milliseconds()}
}

func (d *day) acknowledged(all []dayPoint) {
	for _, p := range all {
		p.s.points[p.at] = bitText(p.v)
	}
}

// shown waits until an adapter shows points: senders of lines get no acknowledgement.
func (d *day) shown(at int, all []dayPoint) {
	d.t.Helper()
	byMetric := map[string][]dayPoint{}
	for _, p := range all {
		byMetric[p.s.metric.text] = append(byMetric[p.s.metric.text], p)
	}
	for metric, points := range byMetric {
		from, to := points[0].at, points[0].at
		for _, p := range points {
			from, to = min(from, p.at), max(to, p.at)
		}
		eventually(d.t, waitTimeout, "points of "+metric+" are shown", func() error {
			got := ourPoints(d.t, d.adapters[at].client, metric, time.UnixMilli(from), time.UnixMilli(to))
			for _, p := range points {
				if v := got[p.s.labels()][p.at]; v != p.s.points[p.at] {
					return fmt.Errorf("%s shows %v as %q", d.adapterName(at), p, v)
				}
			}
			return nil
		})
	}
}

// newSeries makes a series, of new names or of those that are there.
func (d *day) newSeries() {
	d.serial++
	pick := func(all ...string) string { return all[d.rng.IntN(len(all))] }
	switch d.rng.IntN(3) {
	case 0: // a plain name, as carbon has them
		d.seriesOf(fmt.Sprintf("day.plain%d.value", d.serial), noTag, "1")
	case 1:
		d.seriesOf(fmt.Sprintf("day.new%d.%s", d.serial%7, pick("a", "b")), "dc", pick("lga", "sjc"), "host", fmt.Sprintf("n%d", d.serial))
	default:
		d.seriesOf(pick("day.cpu.user", "day.cpu.system", "day.net.in"), "dc", pick("lga", "sjc"), "host", pick("h1", "h2", "h3", "h4", "h5"))
	}
}

func (d *day) remoteWrite(at int, points []dayPoint) error {
	var m prompb.WriteRequest
	for _, p := range points {
		var labels []string
		for name, text := range p.s.named() {
			if name != noTag {
				labels = append(labels, name, text)
			}
		}
		one := series([]prompb.Sample{{Timestamp: p.at, Value: p.v}}, labels...)
		slices.SortFunc(one.Labels, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) })
		m.Timeseries = append(m.Timeseries, one)
	}
	r, err := d.adapters[at].do(d.t.Context(), http.MethodPost, "/api/v1/write", writeHeader(contentV1, nil), snappied(d.t, &m))
	if err == nil && r.status/100 != 2 {
		err = fmt.Errorf("answer %v", r)
	}
	return err
}

func (d *day) carbonLines(at int, points []dayPoint) error {
	var b strings.Builder
	for _, p := range points {
		b.WriteString(p.s.metric.text)
		for key, text := range p.s.tagTexts() {
			if key != noTag {
				b.WriteString(";" + key + "=" + text)
			}
		}
		fmt.Fprintf(&b, " %s %d\n", strconv.FormatFloat(p.v, 'f', -1, 64), p.at/1000)
	}
	sendCarbon(d.t, "tcp", d.adapters[at].carbonAddr(d.t), b.String())
	return nil
}

func (d *day) putHTTP(at int, points []dayPoint) error {
	body, err := json.Marshal(d.putPoints(points))
	if err != nil {
		return err
	}
	r, err := newClient(d.adapters[at].opentsdbAddr(d.t)).do(d.t.Context(), http.MethodPost, "/api/put", nil, body)
	if err == nil && r.status != http.StatusNoContent {
		err = fmt.Errorf("answer %v", r)
	}
	return err
}

// putPoints converts points to OpenTSDB's form: whole numbers are integers or floats, depending on the number.
func (d *day) putPoints(points []dayPoint) (all []tsdPoint) {
	for _, p := range points {
		text := strconv.FormatFloat(p.v, 'f', -1, 64)
		if !strings.Contains(text, ".") && int64(p.v)%3 == 0 {
			text += ".0"
		}
		at := p.at
		if at%1000 == 0 {
			at /= 1000
		}
		all = append(all, tsdPoint{Metric: p.s.metric.text, Timestamp: at, Value: json.Number(text), Tags: p.s.tagTexts()})
	}
	return all
}

func (d *day) putLines(addr string, points []dayPoint) error {
	var lines []string
	for _, p := range d.putPoints(points) {
		line := fmt.Sprintf("put %s %d %s", p.Metric, p.Timestamp, p.Value)
		for key, text := range p.Tags {
			line += " " + key + "=" + text
		}
		lines = append(lines, line)
	}
	sendTelnet(d.t, addr, lines...)
	return nil
}
