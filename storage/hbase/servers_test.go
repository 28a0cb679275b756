package hbase

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// Answers are counted for the server that gave them, with the times of the last ones.
func TestServers(t *testing.T) {
	s, now := newServers(), time.Now()
	for i := range 2 * lastTook {
		s.note("r1", regionAt{"tsdb", "a:1", now}, time.Duration(i+1)*time.Millisecond, nil)
	}
	s.note("r2", regionAt{"tsdb", "b:1", now.Add(-2 * regionAge)}, time.Second, nil)
	s.note("r2", regionAt{"tsdb", "", now.Add(-2 * regionAge)}, time.Second, errors.New("gone"))
	s.note("r1", regionAt{"tsdb", "c:1", now}, time.Hour, fmt.Errorf("scan: %w", context.Canceled))
	s.note("r1", regionAt{"tsdb", "a:1", now}, time.Hour, context.Canceled)
	list := s.list(now)
	if c := list[len(list)-1]; c.Server != "c:1" || c.Requests != 1 || c.Errors != 0 || c.LastError != "" || c.P99 != 0 {
		t.Errorf("requests that were given up: %+v", c)
	}
	if len(list) != 3 || list[0].Server != "a:1" || list[0].Regions != 1 || list[0].Requests != 2*lastTook+1 || list[0].Errors != 0 || list[0].LastError != "" {
		t.Errorf("%+v", list)
	}
	if a := list[0]; a.P50 < 600*time.Millisecond || a.P50 > 900*time.Millisecond || a.P99 < time.Second || a.P99 > 1024*time.Millisecond {
		t.Errorf("%+v", a)
	}
	if b := list[1]; b.Server != "b:1" || b.Regions != 0 || b.Requests != 2 || b.Errors != 1 || b.LastError != "gone" || b.P50 != time.Second {
		t.Errorf("%+v", b)
	}
	for i := range 2 * mostRegions {
		s.note(time.Duration(i).String(), regionAt{"tsdb", "a:1", now}, 0, nil)
	}
	if len(s.regions) > mostRegions {
		t.Errorf("%d regions are kept", len(s.regions))
	}
}
