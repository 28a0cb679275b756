package cli

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// age is a flag value for a long duration in Prometheus' units: 90d, 2w, 1y6w, 36h.
type age time.Duration

func (a *age) Set(s string) error {
	d, err := model.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is no duration: want numbers with s, m, h, d, w or y, such as 90d, or 0", s)
	}
	*a = age(d)
	return nil
}

func (a *age) String() string { return ageText(time.Duration(*a)) }

// ageText returns the exact form of a duration in as few units as possible.
func ageText(d time.Duration) string { return model.Duration(d).String() }
