package aggregate

import (
	"fmt"
	"strings"
)

// A Fill is what an interval without points gets.
type Fill byte

// The fill policies.
const (
	FillNone   Fill = iota // no value
	FillNaN                // not a number
	FillNull               // not a number, which is printed as null
	FillZero               // 0
	FillScalar             // refused when it is used
)

// String returns a policy's name.
func (f Fill) String() string { return [...]string{"none", "nan", "null", "zero", "scalar"}[f] }

// ParseFill returns the policy of a name in any case. The error is in a TSD's words.
func ParseFill(name string) (Fill, error) {
	for f := FillNone; f <= FillScalar; f++ {
		if strings.EqualFold(f.String(), name) {
			return f, nil
		}
	}
	return 0, fmt.Errorf("Unrecognized fill policy: %s", name)
}
