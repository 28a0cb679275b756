package query

// Text is text of a request.
type Text string
