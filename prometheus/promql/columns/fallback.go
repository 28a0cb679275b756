package columns

import "errors"

// FallbackReason is ErrHandOver with the reason.
type FallbackReason string

// Error returns the reason.
func (e FallbackReason) Error() string { return ErrHandOver.Error() + ": " + string(e) }

// Is makes it an ErrHandOver.
func (FallbackReason) Is(target error) bool { return target == ErrHandOver }

// The reasons why a query that is under way is left to the library. The label reason of
// tsdbridge_promql_queries_left_total shows them, and those of the planner.
const (
	ErrLimit  = FallbackReason("near --query.max-samples")           // samples in memory
	ErrEqual  = FallbackReason("series become equal")                // without their names
	ErrMatch  = FallbackReason("several series match at a step")     // of a binary operation
	ErrInfo   = FallbackReason("info series contradict each other")  // of the function info
	ErrLabel  = FallbackReason("a label that changes with the step") // of histogram_quantiles
	errSource = FallbackReason("series that are no columns")         // of a Source, without a reason of its own
)

// FallbackReasonOf returns the reason of an error that is an ErrHandOver.
func FallbackReasonOf(err error) string {
	why := errSource
	errors.As(err, &why)
	return string(why)
}
