package query

// text is text of a request.
type text string

// Text is text in requests that other rooms read.
type Text = text
