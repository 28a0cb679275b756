package query

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
)

// The parameters of requests mean, and errors about them say, what they do in the Prometheus module.

// invalid returns the error of a parameter.
func invalid(name string, err error) error { return fmt.Errorf("invalid parameter %q: %w", name, err) }

func limitOf(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	limit, err := strconv.Atoi(text)
	if err == nil && limit < 0 {
		err = errors.New("limit must be non-negative")
	}
	if err != nil {
		return 0, invalid("limit", err)
	}
	return limit, nil
}

// readRange reads the parameters start, end and step.
func readRange(r *http.Request, q *engine.Request) (err error) {
	if q.Start, err = parseTime(r.FormValue("start")); err != nil {
		return invalid("start", err)
	}
	if q.End, err = parseTime(r.FormValue("end")); err != nil {
		return invalid("end", err)
	}
	if q.End.Before(q.Start) {
		return invalid("end", errors.New("end timestamp must not be before start time"))
	}
	if q.Step, err = parseDuration(r.FormValue("step")); err != nil {
		return invalid("step", err)
	}
	if q.Step <= 0 {
		return invalid("step", errors.New("zero or negative query resolution step widths are not accepted. Try a positive integer"))
	}
	if q.End.Sub(q.Start)/q.Step > mostPoints {
		return errors.New("exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)")
	}
	return nil
}

// readInstant reads the parameter time; without it, it is now.
func readInstant(r *http.Request, q *engine.Request, now time.Time) (err error) {
	text := r.FormValue("time")
	if q.Now = text == ""; q.Now {
		q.Start = now
	} else if q.Start, err = parseTime(text); err != nil {
		return invalid("time", fmt.Errorf("invalid time value for 'time': %w", err))
	}
	q.End = q.Start
	return nil
}

// optionalTime reads a parameter that may be absent.
func optionalTime(r *http.Request, name string, absent time.Time) (time.Time, error) {
	text := r.Form.Get(name)
	if text == "" {
		return absent, nil
	}
	t, err := parseTime(text)
	if err == nil && (t.Unix() >= 1<<40 || t.Unix() <= -1<<40) { // milliseconds may not overflow
		err = fmt.Errorf("cannot parse %q to a valid timestamp", text)
	}
	if err != nil {
		return t, invalid(name, err)
	}
	return t, nil
}

// mostPoints is Prometheus' bound of the points of a series in an answer.
const mostPoints = 11000

// parseTime reads seconds since 1970, or a time of RFC 3339.
func parseTime(text string) (time.Time, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		whole, part := math.Modf(s)
		part = math.Round(part*1000) / 1000
		return time.Unix(int64(whole), int64(part*float64(time.Second))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	for _, t := range []time.Time{v1.MinTime, v1.MaxTime} { // their years have more than four digits
		if text == t.Format(time.RFC3339Nano) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("cannot parse %q to a valid timestamp", text)
}

// parseDuration reads seconds, or a duration of PromQL.
func parseDuration(text string) (time.Duration, error) {
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		ns := s * float64(time.Second)
		if ns > math.MaxInt64 || ns < math.MinInt64 {
			return 0, fmt.Errorf("cannot parse %q to a valid duration. It overflows int64", text)
		}
		return time.Duration(ns), nil
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("cannot parse %q to a valid duration", text)
}
