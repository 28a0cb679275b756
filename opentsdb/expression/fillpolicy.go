package expression

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// A FillPolicy is the value that stands for one that a series lacks.
type FillPolicy struct {
	Policy aggregate.Fill
	Value  float64
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *FillPolicy) UnmarshalJSON(b []byte) error {
	var j struct {
		Policy *query.Text
		Value  query.Text
	}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	value := 0.0
	if j.Value != "" {
		var err error
		if value, err = strconv.ParseFloat(string(j.Value), 64); err != nil && !math.IsInf(value, 0) {
			return fmt.Errorf("not a valid Double value: %s", j.Value)
		}
	}
	if j.Policy == nil {
		*f = policyOf(value)
		return nil
	}
	policy, err := aggregate.ParseFill(string(*j.Policy))
	if err != nil {
		return err
	}
	*f, err = newFillPolicy(policy, value)
	return err
}

// policyOf returns the policy that a value alone means.
func policyOf(value float64) FillPolicy {
	switch {
	case value == 0:
		return FillPolicy{aggregate.FillZero, 0}
	case value != value:
		return FillPolicy{aggregate.FillNaN, value}
	}
	return FillPolicy{aggregate.FillScalar, value}
}

// newFillPolicy returns a policy with its value; only that of a scalar may be chosen.
func newFillPolicy(policy aggregate.Fill, value float64) (FillPolicy, error) {
	absent := value == 0 || value != value
	switch policy {
	case aggregate.FillScalar:
		return FillPolicy{policy, value}, nil
	case aggregate.FillZero:
		if value != 0 {
			return FillPolicy{}, errors.New("The value for ZERO must be 0")
		}
		return FillPolicy{policy, 0}, nil
	case aggregate.FillNull:
		if !absent {
			return FillPolicy{}, errors.New("The value for NULL must be 0")
		}
	default:
		if !absent {
			return FillPolicy{}, errors.New("The value for NONE and NAN must be NaN")
		}
	}
	return FillPolicy{policy, math.NaN()}, nil
}

// MarshalJSON implements json.Marshaler.
func (f FillPolicy) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `{"policy":"%s","value":%s}`, f.Policy, query.AppendDouble(nil, f.Value)), nil
}
