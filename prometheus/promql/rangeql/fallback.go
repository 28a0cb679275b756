package rangeql

import "errors"

// fallbackReason is ErrHandOver with the reason.
type fallbackReason string

func (e fallbackReason) Error() string { return ErrHandOver.Error() + ": " + string(e) }

// Is makes it an ErrHandOver.
func (fallbackReason) Is(target error) bool { return target == ErrHandOver }

// The reasons why a query that is under way is left to the library. The label reason of
// tsdbridge_promql_queries_left_total shows them, and those of newPlan.
const (
	errLimit  = fallbackReason("near --query.max-samples")
	errEqual  = fallbackReason("series become equal")
	errMatch  = fallbackReason("several series match at a step")
	errInfo   = fallbackReason("info series contradict each other")
	errLabel  = fallbackReason("a label that changes with the step")
	errSource = fallbackReason("series that are no columns") // of a Source, without a reason of its own
)

// fallbackReasonOf returns the reason of an error that is an ErrHandOver.
func fallbackReasonOf(err error) string {
	why := errSource
	errors.As(err, &why)
	return string(why)
}
