package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/tsdbridge/tsdbridge/internal/testkit/load"
)

// hbaseTag queries the hundred series with one value of a tag, among many series of one metric. It
// compares tsdbridge, a TSD on the same tables, and the scan with a regular expression over row
// keys that both would need without an index.
func hbaseTag(ctx context.Context, r *report) error {
	const table = "tags"
	h, err := startHadoop(ctx, r)
	if err != nil {
		return r.withoutHBase(ctx, err)
	}
	defer h.close()
	if err := h.create(ctx, table); err != nil {
		return err
	}
	shape := load.Shape{Seed: 1, Steps: 20, Interval: 15 * time.Second, End: end(), Tail: r.scaled(100_000), TailSteps: 20}
	d := dataset{Shape: shape, groups: shape.Tail / 100}
	dir, err := os.MkdirTemp("", "tsdbridge-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := h.fillTags(ctx, r, dir, table, shape)
	if err != nil {
		return err
	}
	defer s.proc.kill()
	tsd, err := h.tsd(ctx, r, table)
	if err != nil {
		return err
	}
	defer func() { _ = tsd.Stop() }()
	ours, err := groupQuery(d)
	if err != nil {
		return err
	}
	theirs := tsdQuery(d, strings.TrimPrefix(tsd.URL(), "http://"))
	regex, err := h.tagFilter(ctx, table, d.group())
	if err != nil {
		return err
	}
	var rows int
	scan := func(ctx context.Context, _ *server) ([]byte, error) {
		rows = 0
		err := h.scan(ctx, table, regex, func(*hrpc.Result) { rows++ })
		return nil, err
	}
	var times [3]float64
	for i, ask := range []request{ours, theirs, scan} {
		if times[i], err = p50(ctx, s, ask); err != nil {
			return err
		}
	}
	if err := sameSeries(ctx, r, s, ours, theirs); err != nil {
		return err
	}
	what := fmt.Sprintf("100 of %d series by a tag, HBase", shape.Tail)
	r.note("%s: the scan with a regular expression returned %d rows", what, rows)
	r.lines = append(r.lines,
		line{what: what, unit: milliseconds, ours: times[0], peer: tsdName, theirs: times[1], bar: atMost(1.0 / 100)},
		line{what: what, unit: milliseconds, ours: times[0], peer: "scan of row keys by regexp", theirs: times[2], bar: atMost(1.0 / 40)})
	return nil
}

// fillTags writes the data and starts the adapter anew, so that it knows only what the tables
// contain.
func (h *hadoop) fillTags(ctx context.Context, r *report, dir, table string, shape load.Shape) (*server, error) {
	s, err := h.adapter(table, "buffered").start(ctx, dir)
	if err != nil {
		return nil, err
	}
	err = s.fill(ctx, r, load.Encode(shape, load.RemoteWrite1, connections, 2000))
	if err == nil {
		_, err = s.proc.stop()
	}
	if err == nil {
		err = quiet(ctx, h.usage) // flushes and compactions of what was written
	}
	if err == nil {
		err = s.run(ctx)
	}
	if err != nil {
		s.proc.kill()
		return nil, err
	}
	return s, nil
}

// p50 returns the median time of a query. The first query is left out: it fills caches on all
// sides.
func p50(ctx context.Context, s *server, ask request) (float64, error) {
	if _, err := ask(ctx, s); err != nil {
		return 0, err
	}
	var times []float64
	for begin := time.Now(); len(times) < leastARound || len(times) < mostARound && time.Since(begin) < roundTime; {
		one := time.Now()
		if _, err := ask(ctx, s); err != nil {
			return 0, err
		}
		times = append(times, ms(time.Since(one)))
	}
	return median(times), nil
}

// tsdQuery asks for the same series as groupQuery, each by itself.
func tsdQuery(d dataset, addr string) request {
	from, to := d.last(5 * time.Minute)
	query := url.Values{
		"start": {strconv.FormatInt(from.UnixMilli(), 10)}, "end": {strconv.FormatInt(to.UnixMilli(), 10)}, "ms": {"true"},
		"m": {"none:" + load.ChurnMetric + "{}{grp=literal_or(" + d.group() + ")}"},
	}
	return func(ctx context.Context, s *server) ([]byte, error) {
		return s.do(ctx, "GET", "http://"+addr+"/api/query?"+query.Encode())
	}
}

func sameSeries(ctx context.Context, r *report, s *server, ours, theirs request) error {
	mine, err := ours(ctx, s)
	if err != nil {
		return err
	}
	got, err := prometheusExtent(mine)
	if err != nil {
		return err
	}
	text, err := theirs(ctx, s)
	if err != nil {
		return err
	}
	var answer []struct{ Dps map[string]float64 }
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("answer of the TSD %.100q: %w", text, err)
	}
	other := extent{series: len(answer)}
	for _, one := range answer {
		other.points += len(one.Dps)
	}
	if got != other {
		r.note("100 series by a tag: ours has %v series × points, the TSD %v", got, other)
	}
	return nil
}

// tagFilter returns the filter that a TSD sends for one value of one tag: UIDs of 3 bytes, of the
// metric, then 4 bytes of time, then tags.
func (h *hadoop) tagFilter(ctx context.Context, table, value string) (filter.Filter, error) {
	client := gohbase.NewClient(h.ZooKeeper(), gohbase.Logger(slog.New(slog.DiscardHandler)))
	defer client.Close()
	var pair []byte
	for _, name := range []struct{ text, kind string }{{"grp", "tagk"}, {value, "tagv"}} {
		get, err := hrpc.NewGetStr(ctx, table+"-uid", name.text, hrpc.Families(map[string][]string{"id": {name.kind}}))
		if err != nil {
			return nil, err
		}
		row, err := client.Get(get)
		if err != nil {
			return nil, err
		}
		if len(row.Cells) != 1 {
			return nil, errors.New("no UID of " + name.kind + " " + name.text)
		}
		pair = append(pair, row.Cells[0].Value...)
	}
	var quoted strings.Builder
	for _, b := range pair { // each byte as the character that ISO-8859-1 makes of it
		quoted.WriteString(regexp.QuoteMeta(string(rune(b))))
	}
	const dotAll = 32 // java.util.regex.Pattern.DOTALL
	expr := "^.{7}(?:.{6})*" + quoted.String() + "(?:.{6})*$"
	return filter.NewRowFilter(filter.NewCompareFilter(filter.Equal, filter.NewRegexStringComparator(expr, dotAll, "ISO-8859-1", "JAVA"))), nil
}
