package netserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestWithTimeout compares a context with one of context.WithTimeout, with and without a call of
// Done before the end.
func TestWithTimeout(t *testing.T) {
	for _, how := range []string{"nothing", "time", "cancel", "parent"} {
		for _, waits := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				parent, end := context.WithCancel(t.Context())
				defer end()
				c, cancel := WithTimeout(parent, time.Second)
				want, cancelWant := context.WithTimeout(parent, time.Second)
				defer cancelWant()
				defer cancel()
				child := context.Context(nil)
				if waits {
					var cancelChild context.CancelFunc
					child, cancelChild = context.WithCancel(c)
					defer cancelChild()
				}
				switch how {
				case "time":
					time.Sleep(time.Second)
				case "cancel":
					cancel()
					cancelWant()
				case "parent":
					end()
				}
				synctest.Wait()
				if !errors.Is(c.Err(), want.Err()) || waits && !errors.Is(child.Err(), want.Err()) {
					t.Errorf("%s, waits %t: %v, want %v", how, waits, c.Err(), want.Err())
				}
				if d, ok := c.Deadline(); !ok || time.Until(d) != time.Until(must(want.Deadline())) {
					t.Errorf("deadline %v", d)
				}
				if want.Err() == nil {
					return
				}
				<-c.Done()
				if !errors.Is(c.Err(), want.Err()) {
					t.Errorf("%s, waits %t: %v after Done, want %v", how, waits, c.Err(), want.Err())
				}
			})
		}
	}
}

func must(d time.Time, _ bool) time.Time { return d }
