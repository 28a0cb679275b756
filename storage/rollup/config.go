package rollup

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Config is the intervals that there are, and the ids of the aggregations that make their values. It
// is not recorded in the tables: all who use these must have the same.
type Config struct {
	Intervals []Interval // the longest first
	IDs       map[string]byte
}

// An Interval is one length of intervals.
type Interval struct {
	Name          string // as it was configured: 1h
	Seconds       int
	Span          schema.RollupSpan
	Table         string // of values of series
	PreAggregated string // table of values of groups of series
	// Inline means that values of groups belong into the table of the points: with the default interval they are
	// points, with any other one they cannot be told from what stands there, and are refused.
	Inline bool
	// Default marks the interval that stands for the points themselves, which are in their own table.
	Default bool
	// Delay is how long after their end intervals may lack their value; 0: it is not known.
	Delay time.Duration
}

// Bounds of what is read.
const (
	maxIntervals = 64
	minInRow     = 12 // intervals, as OpenTSDB requires
)

// fileConfig is a Config in the JSON of tsd.rollups.config. Other members are ignored, as OpenTSDB does.
type fileConfig struct {
	AggregationIDs map[string]int `json:"aggregationIds"`
	Intervals      []fileInterval `json:"intervals"`
}

type fileInterval struct {
	Table               string `json:"table"`
	PreAggregationTable string `json:"preAggregationTable"`
	Interval            string `json:"interval"`
	RowSpan             string `json:"rowSpan"`
	DefaultInterval     bool   `json:"defaultInterval"`
	DelaySLA            string `json:"delaySla"`
}

// ParseConfig reads the JSON of OpenTSDB's tsd.rollups.config. aggregator reports whether there is an
// aggregator with a name.
func ParseConfig(text []byte, aggregator func(name string) bool) (*Config, error) {
	var f fileConfig
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("rollup configuration: %w", err)
	}
	switch {
	case len(f.Intervals) == 0:
		return nil, errors.New("rollup configuration: no intervals were found")
	case len(f.Intervals) > maxIntervals:
		return nil, fmt.Errorf("rollup configuration: %d intervals; at most %d can be configured", len(f.Intervals), maxIntervals)
	case len(f.AggregationIDs) == 0:
		return nil, errors.New("rollup configuration: no ids of aggregations were found (aggregationIds)")
	}
	c := &Config{IDs: map[string]byte{}}
	for _, one := range f.Intervals {
		i, err := one.interval()
		if err != nil {
			return nil, fmt.Errorf("rollup interval %q: %w", one.Interval, err)
		}
		c.Intervals = append(c.Intervals, i)
	}
	slices.SortStableFunc(c.Intervals, func(a, b Interval) int { return b.Seconds - a.Seconds })
	if err := c.readIDs(f.AggregationIDs, aggregator); err != nil {
		return nil, err
	}
	return c, c.check()
}

func (c *Config) readIDs(ids map[string]int, aggregator func(string) bool) error {
	names := map[int]string{}
	for name, id := range ids {
		lower := strings.ToLower(name)
		switch other, taken := names[id]; {
		case id < 0 || id > 127:
			return fmt.Errorf("rollup aggregation %q: the id %d is not between 0 and 127", name, id)
		case taken:
			return fmt.Errorf("rollup aggregations %q and %q have the same id %d", min(other, name), max(other, name), id)
		case !aggregator(lower):
			return fmt.Errorf("rollup aggregation %q: no such aggregator", name)
		}
		names[id], c.IDs[lower] = name, byte(id)
	}
	return nil
}

// check compares the intervals with each other.
func (c *Config) check() error {
	defaults, names, table := 0, map[string]bool{}, ""
	for _, i := range c.Intervals {
		if names[i.Name] {
			return fmt.Errorf("rollup interval %q is configured twice", i.Name)
		}
		names[i.Name] = true
		if i.Default {
			defaults++
			table = i.Table
		}
	}
	if defaults != 1 {
		return fmt.Errorf("%d rollup intervals are the default interval: there must be one, which stands for the points themselves", defaults)
	}
	for _, i := range c.Intervals {
		if !i.Default && i.Table == table {
			return fmt.Errorf("rollup interval %q has the table %s, which the default interval says is that of the points", i.Name, table)
		}
	}
	return nil
}

func (f fileInterval) interval() (i Interval, err error) {
	i = Interval{Name: f.Interval, Table: f.Table, PreAggregated: f.PreAggregationTable, Default: f.DefaultInterval}
	if f.Table == "" || f.PreAggregationTable == "" {
		return i, errors.New("table and preAggregationTable must be set")
	}
	if i.Span, err = parseSpan(f.RowSpan); err != nil {
		return i, err
	}
	if i.Seconds, err = parseSeconds(f.Interval); err != nil {
		return i, err
	}
	if f.DelaySLA != "" {
		delay, err := parseSeconds(f.DelaySLA)
		if err != nil {
			return i, fmt.Errorf("delaySla %q: %w", f.DelaySLA, err)
		}
		i.Delay = time.Duration(delay) * time.Second
	}
	switch n := i.Span.Seconds() / i.Seconds; {
	case n < minInRow:
		return i, fmt.Errorf("a row of %s has %d intervals; it must have at least %d", f.RowSpan, n, minInRow)
	case n > schema.MaxRollupIntervals:
		return i, fmt.Errorf("a row of %s has %d intervals; at most %d can be told from milliseconds", f.RowSpan, n, schema.MaxRollupIntervals)
	}
	return i, nil
}

// RowStart returns the base time of the row that a time is in, both in seconds.
func (i *Interval) RowStart(t uint32) uint32 {
	if i.Default {
		return t - t%schema.RowSeconds
	}
	return i.Span.Base(t)
}

// NextRow returns the base time of the row after one; the greatest time if there is none.
func (i *Interval) NextRow(base uint32) uint32 {
	length := uint32(schema.RowSeconds)
	if !i.Default {
		length = uint32(i.Span.Seconds())
	}
	if next := i.RowStart(base + length); next > base { // else there are no more in 32 bits
		return next
	}
	return math.MaxUint32
}

// parseSpan reads the span of a row: 1h, 6h, 1d, 1n, 1y.
func parseSpan(text string) (schema.RollupSpan, error) {
	if len(text) < 2 {
		return schema.RollupSpan{}, fmt.Errorf("rowSpan %q: want a number and h, d, n or y", text)
	}
	s := schema.RollupSpan{Unit: text[len(text)-1]}
	var err error
	s.N, err = strconv.Atoi(text[:len(text)-1])
	switch {
	case err != nil || s.N < 1 || s.N > 1<<16 || !strings.ContainsRune("hdny", rune(s.Unit)):
		return s, fmt.Errorf("rowSpan %q: want a number and h, d, n or y", text)
	case s.Unit != 'h' && s.N > 1:
		return s, fmt.Errorf("rowSpan %q: only hours may be multiplied", text)
	case s.N > 1 && s.N%2 != 0:
		return s, fmt.Errorf("rowSpan %q: the number of hours must be 1 or even", text)
	}
	return s, nil
}

// parseSeconds reads a duration in a TSD's units.
func parseSeconds(text string) (int, error) {
	units := map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': 86400, 'w': 7 * 86400, 'n': 30 * 86400, 'y': 365 * 86400}
	if len(text) < 2 {
		return 0, fmt.Errorf("%q is not a duration", text)
	}
	unit, ok := units[text[len(text)-1]]
	n, err := strconv.Atoi(text[:len(text)-1])
	if !ok || err != nil || n < 1 || n > 1<<24 {
		return 0, fmt.Errorf("%q is not a duration of whole seconds", text)
	}
	return n * unit, nil
}

// Interval returns the interval with a name.
func (c *Config) Interval(name string) (*Interval, bool) {
	for i := range c.Intervals {
		if c.Intervals[i].Name == name {
			return &c.Intervals[i], true
		}
	}
	return nil, false
}

// Default returns the interval that stands for the points themselves.
func (c *Config) Default() *Interval {
	for i := range c.Intervals {
		if c.Intervals[i].Default {
			return &c.Intervals[i]
		}
	}
	return nil // ParseConfig sees to it that there is one
}

// Fitting returns the intervals of which one of so many seconds consists, the longest first.
func (c *Config) Fitting(seconds int64) (fitting []*Interval) {
	for i := range c.Intervals {
		if seconds >= int64(c.Intervals[i].Seconds) && seconds%int64(c.Intervals[i].Seconds) == 0 {
			fitting = append(fitting, &c.Intervals[i])
		}
	}
	return fitting
}

// ShareWith tells which table has the points: values of groups may belong into it.
func (c *Config) ShareWith(points string) {
	for i := range c.Intervals {
		c.Intervals[i].Inline = c.Intervals[i].PreAggregated == points
	}
}

// Keeps reports whether an interval has a table of its own for the values of series or of groups; else these are
// points, or refused.
func (i *Interval) Keeps(group bool) bool {
	if group {
		return !i.Inline
	}
	return !i.Default
}

// Tables returns the names of all tables but that of the points, each once.
func (c *Config) Tables() []string {
	var tables []string
	for _, i := range c.Intervals {
		for _, group := range []bool{false, true} {
			if i.Keeps(group) {
				tables = append(tables, i.TableOf(group))
			}
		}
	}
	slices.Sort(tables)
	return slices.Compact(tables)
}
