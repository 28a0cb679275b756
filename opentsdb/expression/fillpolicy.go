package expression

import (
	"errors"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// A FillPolicy is the value that stands for one that a series lacks.
type FillPolicy struct {
	Policy aggregate.Fill
	Value  float64
}

// parseFillPolicy returns the policy of a name, or without one that of a value.
func parseFillPolicy(name *string, value float64) (FillPolicy, error) {
	if name == nil {
		return policyOf(value), nil
	}
	policy, err := aggregate.ParseFill(*name)
	if err != nil {
		return FillPolicy{}, err
	}
	return newFillPolicy(policy, value)
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
