package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/commands"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// backfillPath fills the recording rules of a file, a backfillRequest as JSON. The answer is lines of JSON
// while it goes on, as those of uidPath.
const backfillPath = prom.APIPrefix + "/admin/rules/backfill"

// BackfillOptions are the settings of the command that fills recording rules for the past.
type BackfillOptions struct {
	Files      []string
	Start, End string        // RFC 3339, or a time of an OpenTSDB query; End empty: now
	Interval   time.Duration // of groups without one
	URL        string        // of the adapter; empty: the one with these options on this machine
}

// Validate reports what is wrong with the options.
func (b BackfillOptions) Validate() error {
	if _, _, err := b.times(time.Now()); err != nil {
		return err
	}
	if b.Interval <= 0 {
		return errors.New("--eval-interval must be above 0")
	}
	return nil
}

func (b BackfillOptions) times(now time.Time) (start, end time.Time, err error) {
	from, err := commands.ParseTime(b.Start, now)
	if err != nil {
		return start, end, fmt.Errorf("--start: %w", err)
	}
	start, end = time.UnixMilli(from), now
	if b.End != "" {
		to, err := commands.ParseTime(b.End, now)
		if err != nil {
			return start, end, fmt.Errorf("--end: %w", err)
		}
		end = time.UnixMilli(to)
	}
	if !end.After(start) {
		return start, end, errors.New("--end must be after --start")
	}
	return start, end, nil
}

// backfillRequest is what a running adapter is asked to fill.
type backfillRequest struct {
	File       string
	Text       string
	Start, End time.Time
	Interval   time.Duration
}

// maxBackfillBytes bounds the body of a request.
const maxBackfillBytes = 32 << 20

// backfill fills recording rules in a running adapter.
func (a *Adapter) backfill(w http.ResponseWriter, r *http.Request) {
	var q backfillRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBackfillBytes)).Decode(&q); err != nil {
		reply.BadRequest(w, err)
		return
	}
	g := a.live.Load()
	set, err := g.o.parsedRules(q)
	if err != nil {
		reply.BadRequest(w, err)
		return
	}
	if err := a.Ready(r.Context()); err != nil {
		a.admin.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, flush := json.NewEncoder(w), http.NewResponseController(w)
	err = g.prometheus.Backfill(r.Context(), rules.Backfill{Set: set, Start: q.Start, End: q.End, Progress: func(group string, done, all, samples int) error {
		line := fmt.Sprintf("%s: group %q: %d of %d instants, %d samples", q.File, group, done, all, samples)
		return errors.Join(lines.Encode(uidLine{Line: line}), flush.Flush())
	}})
	end := uidLine{Done: true}
	if err != nil {
		a.o.Logger.WarnContext(r.Context(), "a filling of rules ended with an error; what was told before is stored, and it may be run again", "file", q.File, "err", err)
		end.Error = err.Error()
	}
	_ = lines.Encode(end) // the client misses it if it cannot be sent
}

// parsedRules returns the rules of a request, with the external labels and offset that hold.
func (o Options) parsedRules(q backfillRequest) (*rules.Set, error) {
	c := rules.Config{Interval: q.Interval}
	if o.PromConfig != nil {
		c.QueryOffset = time.Duration(o.PromConfig.GlobalConfig.RuleQueryOffset)
	}
	return rules.ParseSet(c, q.File, []byte(q.Text), o.prometheusOptions().Query.Parser(), o.ruleChecks())
}

// BackfillRules has a running adapter fill the recording rules of files for the past.
func BackfillRules(ctx context.Context, o Options, b BackfillOptions, c commands.Console) error {
	start, end, err := b.times(o.Now())
	if err != nil {
		return err
	}
	base := b.URL
	if base == "" {
		if base, err = o.OwnURL(); err != nil {
			return err
		}
	}
	for _, file := range b.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		q := backfillRequest{file, string(text), start, end, b.Interval}
		if _, err := o.parsedRules(q); err != nil {
			return err
		}
		req, err := admin.JSONRequest(ctx, base, backfillPath, q)
		if err != nil {
			return err
		}
		if _, err := readLines(req, func(line string) error {
			_, err := fmt.Fprintln(c.Out, line)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// CheckRules checks rule files. It prints how many rules each has.
func CheckRules(o Options, files []string, c commands.Console) error {
	var errs []error
	for _, file := range files {
		set, err := rules.Load(rules.Config{Files: []string{file}}, o.prometheusOptions().Query.Parser(), o.ruleChecks())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := fmt.Fprintf(c.Out, "%s: %d rules\n", file, set.Rules()); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}
