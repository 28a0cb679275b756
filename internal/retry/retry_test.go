package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var at []time.Duration
		done := retry.Until(t.Context(), retry.Pauses{First: time.Second, Longest: 5 * time.Second}, func() bool {
			at = append(at, time.Since(begin))
			return len(at) == 6
		})
		want := []time.Duration{0, time.Second, 3 * time.Second, 7 * time.Second, 12 * time.Second, 17 * time.Second}
		if !done || !slices.Equal(at, want) {
			t.Errorf("Until = %v, attempts at %v, want %v", done, at, want)
		}
	})
}

func TestUntilEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		attempts := 0
		if retry.Until(ctx, retry.Pauses{First: time.Second, Longest: time.Second}, func() bool { attempts++; return false }) || attempts != 3 {
			t.Errorf("%d attempts, want 3 and no success", attempts)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if !retry.Sleep(t.Context(), time.Minute) || time.Since(begin) != time.Minute {
			t.Errorf("slept %v, want a minute", time.Since(begin))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if retry.Sleep(ctx, time.Minute) || time.Since(begin) != time.Minute {
			t.Error("slept although ctx had ended")
		}
	})
}

func TestOutcome(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var o retry.Outcome
	for i, c := range []struct {
		ctx  context.Context
		err  error
		news bool
		left string
	}{
		{t.Context(), nil, false, ""},
		{t.Context(), errors.New("away"), true, "away"},
		{t.Context(), errors.New("away"), false, "away"},
		{ended, errors.New("cancelled"), false, "away"},
		{t.Context(), errors.New("full"), true, "full"},
		{t.Context(), errors.New("away"), true, "away"},
		{ended, nil, false, ""},
		{t.Context(), errors.New("away"), true, "away"},
	} {
		if news := o.Note(c.ctx, c.err); news != c.news {
			t.Errorf("attempt %d: Note(%v) = %v", i, c.err, news)
		}
		left := ""
		if err := o.Err(); err != nil {
			left = err.Error()
		}
		if left != c.left {
			t.Errorf("attempt %d: Err = %q, want %q", i, left, c.left)
		}
	}
	o.Set(errors.New("not tried yet"))
	if o.Note(t.Context(), errors.New("not tried yet")) || o.Err() == nil {
		t.Error("what was set is news")
	}
}
