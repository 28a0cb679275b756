package aggregate

import "math"

// RateOptions tell how values become rates.
type RateOptions struct {
	// Counter means that values grow, and begin anew after CounterMax.
	Counter    bool
	CounterMax int64
	// ResetValue, when above 0, is the rate above which a counter that began anew counts as reset:
	// its rate is then 0.
	ResetValue int64
	// DropResets leaves out the rates at which a counter began anew.
	DropResets bool
}

// DefaultRateOptions are those of a rate without options.
func DefaultRateOptions() RateOptions { return RateOptions{CounterMax: math.MaxInt64} }

// rate returns the changes per second. The first is that from an instant 0 with the value 0: a TSD
// computes it too, and it shows in groups.
func (o RateOptions) rate(s Span) Span {
	out := Span{Times: make([]int64, 0, s.Len()), Values: make([]float64, 0, s.Len())}
	var before struct {
		time, long int64
		value      float64
	}
	wasLong := true
	for i, t := range s.Times {
		isLong := s.isLong(i)
		seconds := float64(t-before.time) / 1000
		var change float64
		if wasLong && isLong {
			change = float64(s.Longs[i] - before.long)
		} else {
			change = s.Values[i] - before.value
		}
		began := o.Counter && change < 0
		if began && wasLong && isLong {
			change = float64(o.CounterMax - before.long + s.Longs[i])
		} else if began {
			change = float64(o.CounterMax) - before.value + s.Values[i]
		}
		before.time, before.value, wasLong = t, s.Values[i], isLong
		if isLong {
			before.long = s.Longs[i]
		}
		if began && o.DropResets {
			continue
		}
		rate := change / seconds
		if began && o.ResetValue > 0 && rate > float64(o.ResetValue) {
			rate = 0
		}
		out.Times, out.Values = append(out.Times, t), append(out.Values, rate)
	}
	return out
}
