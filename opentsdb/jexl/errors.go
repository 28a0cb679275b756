package jexl

import "fmt"

// A SyntaxError is a text that is no expression.
type SyntaxError struct{ Text, Reason string }

// Error names the text and the reason.
func (e SyntaxError) Error() string {
	return fmt.Sprintf("parsing error in '%s': %s", shown(e.Text), e.Reason)
}

// An UnsupportedError is an expression in JEXL's language that does more than compute, or that is
// too large.
type UnsupportedError struct{ Text, What string }

// Error names the text and what is not supported.
func (e UnsupportedError) Error() string {
	return fmt.Sprintf("%s is not supported in expressions: '%s'", e.What, shown(e.Text))
}

// An EvaluationError is an operation that its operands do not allow.
type EvaluationError struct{ Text, Reason string }

// Error names the text and the reason.
func (e EvaluationError) Error() string { return fmt.Sprintf("'%s' %s", shown(e.Text), e.Reason) }

// shown cuts a text to what an error shows of it.
func shown(text string) string {
	const most = 200
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
