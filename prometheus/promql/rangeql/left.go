package rangeql

import "errors"

// leftBecause is ErrHandOver with the reason.
type leftBecause string

func (e leftBecause) Error() string { return ErrHandOver.Error() + ": " + string(e) }

// Is makes it an ErrHandOver.
func (leftBecause) Is(target error) bool { return target == ErrHandOver }

// The reasons why a query that is under way is left to the library. The label reason of
// tsdbridge_promql_queries_left_total shows them, and those of newPlan.
const (
	errLimit  = leftBecause("near --query.max-samples")
	errEqual  = leftBecause("series become equal")
	errMatch  = leftBecause("several series match at a step")
	errInfo   = leftBecause("info series contradict each other")
	errLabel  = leftBecause("a label that changes with the step")
	errSource = leftBecause("series that are no columns") // of a Source, without a reason of its own
)

// whyLeft returns the reason of an error that is an ErrHandOver.
func whyLeft(err error) string {
	why := errSource
	errors.As(err, &why)
	return string(why)
}
