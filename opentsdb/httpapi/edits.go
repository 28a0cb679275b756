package httpapi

import "net/http"

// Edits are who may change names, metadata and trees.
type Edits struct {
	Allowed bool // --opentsdb.allow-edits
	Origins *Origins
}

// Check returns why a request may not change anything: edits are off, or a page of another origin makes
// a browser send it.
func (e Edits) Check(r *http.Request) error {
	if !e.Allowed {
		return Error{
			Status: http.StatusForbidden, Message: "Edits are not enabled", Details: "--opentsdb.allow-edits lets clients change names, metadata and trees",
		}
	}
	return e.Origins.Check(r)
}
