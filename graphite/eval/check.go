package eval

import (
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// Check reports what is wrong with a target whatever data there is: a function that does not exist, arguments that a
// function does not take. Evaluation reports it only when it comes to the call.
func (e *Evaluator) Check(n expr.Node) error {
	switch n := n.(type) {
	case *expr.Call:
		return e.checkCall(n, 0)
	case *expr.Pipe:
		if err := e.Check(n.Base); err != nil {
			return err
		}
		for _, c := range n.Calls {
			if err := e.checkCall(c, 1); err != nil {
				return err
			}
		}
	case *expr.Template:
		return e.Check(n.Body)
	}
	return nil
}

// checkCall checks a call that gets so many arguments besides its own.
func (e *Evaluator) checkCall(n *expr.Call, piped int) error {
	switch n.Name {
	case "template":
		return errTemplate()
	case "seriesByTag":
		return nil
	}
	fn, err := e.function(n.Name)
	if err != nil {
		return err
	}
	for _, a := range n.Args {
		if err := e.Check(a); err != nil {
			return err
		}
	}
	kwargs := map[string]any{}
	for _, k := range n.Kwargs {
		if err := e.Check(k.Value); err != nil {
			return err
		}
		kwargs[k.Name] = nil
	}
	_, err = fn.Bind(make([]any, piped+len(n.Args)), kwargs)
	return err
}

// function finds a function.
func (e *Evaluator) function(name string) (*call.Function, error) {
	fn, ok := e.functions[name]
	if !ok {
		err := python.Invalid("Received request for unknown function: %s", name)
		return nil, python.Unknown(err, name, slices.Collect(maps.Keys(e.functions)))
	}
	return fn, nil
}

func errTemplate() error {
	return python.Invalid("invalid template() syntax, only string/numeric arguments are allowed")
}
