package tree

import "github.com/tsdbridge/tsdbridge/storage/schema"

// CheckRule says what is wrong with one rule: what no TSD could load, and what can never match. Check says it of a whole tree.
func CheckRule(doc schema.TreeRule) error {
	r, err := compileRule(1, doc)
	if err != nil {
		return err
	}
	return r.check()
}
