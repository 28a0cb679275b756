// Package flagvalue reads values of flags that kingpin does not know: sizes, ages, addresses of a
// ZooKeeper quorum.
package flagvalue

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// An Age is a flag value for a long duration in Prometheus' units: 90d, 2w, 1y6w, 36h.
type Age time.Duration

// Set implements kingpin.Value.
func (a *Age) Set(s string) error {
	d, err := model.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration: want numbers with s, m, h, d, w or y, such as 90d, or 0", s)
	}
	*a = Age(d)
	return nil
}

// String implements kingpin.Value.
func (a *Age) String() string { return AgeText(time.Duration(*a)) }

// AgeText returns the exact form of a duration in as few units as possible.
func AgeText(d time.Duration) string { return model.Duration(d).String() }
