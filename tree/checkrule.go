package tree

import "github.com/tsdbridge/tsdbridge/storage/schema"

// CheckRule returns what is wrong with one rule: what no TSD can load, and what can never match.
// Check does so for a whole tree.
func CheckRule(doc schema.TreeRule) error {
	r, err := compileRule(1, doc)
	if err != nil {
		return err
	}
	return r.check()
}
