package migrate

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
)

// SeriesChoice are the flags of imports and exports that select series and a time.
type SeriesChoice struct {
	Match    []string // --match: selectors of PromQL; none: all series
	From, To string   // --from, --to; empty: no bound
	Labels   []string // --label: name=value, added to each series

	match    [][]*labels.Matcher // after Validate
	from, to int64               // milliseconds, inclusive
	labels   labels.Labels
}

// Validate names the flag that cannot work.
func (c *SeriesChoice) Validate(now time.Time) (err error) {
	if c.match, err = admin.ParseSelectors(c.Match); err != nil {
		return fmt.Errorf("--match=%w", err)
	}
	c.from, c.to = math.MinInt64, math.MaxInt64
	if c.From != "" {
		if c.from, err = command.ParseTime(c.From, now); err != nil {
			return fmt.Errorf("--from=%s: %w", c.From, err)
		}
	}
	if c.To != "" {
		if c.to, err = command.ParseTime(c.To, now); err != nil {
			return fmt.Errorf("--to=%s: %w", c.To, err)
		}
	}
	if c.from > c.to {
		return fmt.Errorf("--to=%s: it is before --from=%s", c.To, c.From)
	}
	c.labels, err = parseLabels(c.Labels)
	return err
}

// whatIsChosen names series and their time, for a state.
func whatIsChosen(match []string, from, to string) string {
	text := "all series"
	if len(match) > 0 {
		text = strings.Join(match, " ")
	}
	if from != "" {
		text += " from " + from
	}
	if to != "" {
		text += " to " + to
	}
	return text
}

// what names what is chosen, for a state.
func (c *SeriesChoice) what() string {
	text := whatIsChosen(c.Match, c.From, c.To)
	if len(c.Labels) > 0 {
		text += " with " + strings.Join(c.Labels, " ")
	}
	return text
}

// parseLabels reads labels of --label.
func parseLabels(all []string) (labels.Labels, error) {
	b := labels.NewScratchBuilder(len(all))
	for _, text := range all {
		name, v, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return labels.EmptyLabels(), fmt.Errorf("--label=%s: want name=value", text)
		}
		b.Add(name, v)
	}
	b.Sort()
	ls := b.Labels()
	if name, twice := ls.HasDuplicateLabelNames(); twice {
		return ls, fmt.Errorf("--label=%s: it is given twice", name)
	}
	return ls, nil
}
