// Package rules has the commands about rule files: their check, their unit tests, and the filling of the past with recording rules
// by a running adapter. It evaluates nothing itself.
package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/session"
)

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
	from, err := command.ParseTime(b.Start, now)
	if err != nil {
		return start, end, fmt.Errorf("--start: %w", err)
	}
	start, end = time.UnixMilli(from), now
	if b.End != "" {
		to, err := command.ParseTime(b.End, now)
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

// Fill has a running adapter fill the recording rules of files for the past.
func Fill(ctx context.Context, o adapter.Options, b BackfillOptions, c command.Console) error {
	start, end, err := b.times(o.Now())
	if err != nil {
		return err
	}
	base := b.URL
	if base == "" {
		if base, err = session.OwnURL(o); err != nil {
			return err
		}
	}
	for _, file := range b.Files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		q := admin.BackfillRequest{File: file, Text: string(text), Start: start, End: end, Interval: b.Interval}
		if _, err := o.ParseRules(q.File, q.Text, q.Interval); err != nil {
			return err
		}
		if err := (admin.RemoteBackfill{Base: base}).Fill(ctx, q, func(line string) error {
			_, err := fmt.Fprintln(c.Out, line)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// BackfillCommand adds "rules backfill" to a command line.
func BackfillCommand(s *command.Set) {
	var b BackfillOptions
	c := s.Add(s.Group("rules", "Recording rules and alerts."), "backfill", command.With(Fill, &b), "Fill the recording rules of files for the past: they are evaluated at all instants of a time, and a running adapter stores the results. Alerts are left out. It may be run again: the same instants get the same points.")
	c.Flag("start", "First instant, such as 2026-01-01T00:00:00Z, or seconds since 1970.").Required().PlaceHolder("TIME").StringVar(&b.Start)
	c.Flag("end", "Last instant. Default: now.").PlaceHolder("TIME").StringVar(&b.End)
	c.Flag("eval-interval", "Interval of groups that have none.").Default("1m").DurationVar(&b.Interval)
	c.Flag("adapter-url", "URL of the adapter (it needs --web.enable-admin-api). Default: the one on this machine at --web.listen-address.").PlaceHolder("URL").StringVar(&b.URL)
	c.Arg("file", "Rule files.").Required().StringsVar(&b.Files)
	c.Action(func(*kingpin.ParseContext) error { return b.Validate() })
}
