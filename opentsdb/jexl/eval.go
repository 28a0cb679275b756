package jexl

// A node is a part of a parsed expression. values are those of the variables.
type node interface {
	eval(values []float64) (Value, error)
}

// Eval computes the expression. values are those of the variables, in the order of Variables. Errors
// are EvaluationErrors.
func (s *Script) Eval(values []float64) (v Value, err error) {
	for _, n := range s.statements {
		if v, err = n.eval(values); err != nil {
			return v, EvaluationError{s.Text(), err.Error()}
		}
	}
	return v, nil
}

type variable int

func (n variable) eval(values []float64) (Value, error) { return double(values[n]), nil }

// A literal is a constant. A number may get a sign, and an integer in the text is an Int if it can be
// one with its sign.
type literal struct {
	value           Value
	number, integer bool
}

func (n literal) eval([]float64) (Value, error) { return n.value, nil }

func (n literal) negated() literal {
	v, err := n.value.negated()
	if err == nil && n.integer && v.kind == Long && v.i == int64(int32(v.i)) {
		v.kind = Int
	}
	return literal{value: v}
}

// A prefix is an operator before an operand: - ~ or !.
type prefix struct {
	sign byte
	of   node
}

func (n prefix) eval(values []float64) (Value, error) {
	v, err := n.of.eval(values)
	switch {
	case err != nil:
		return v, err
	case n.sign == '!':
		return boolean(!v.truth()), nil
	case n.sign == '~':
		return Value{kind: Long, i: ^v.bits()}, nil
	}
	return v.negated()
}

// A chain is operands with operators between them, which are applied from left to right.
type chain struct {
	first node
	links []link
}

type link struct {
	op op
	to node
}

func (n chain) eval(values []float64) (Value, error) {
	left, err := n.first.eval(values)
	for _, l := range n.links {
		if err != nil {
			return left, err
		}
		if l.op >= opEither {
			left, err = l.logic(left, values)
			continue
		}
		var right Value
		if right, err = l.to.eval(values); err == nil {
			left, err = operate(l.op, left, right)
		}
	}
	return left, err
}

// logic computes || or &&: the right operand only if the left one does not decide.
func (l link) logic(left Value, values []float64) (Value, error) {
	if truth := left.truth(); truth == (l.op == opEither) {
		return boolean(truth), nil
	}
	right, err := l.to.eval(values)
	return boolean(right.truth()), err
}

// A ternary is condition ? then : otherwise.
type ternary struct{ condition, then, otherwise node }

func (n ternary) eval(values []float64) (Value, error) {
	v, err := n.condition.eval(values)
	switch {
	case err != nil:
		return v, err
	case v.truth():
		return n.then.eval(values)
	}
	return n.otherwise.eval(values)
}

// An elvis is condition ?: otherwise.
type elvis struct{ condition, otherwise node }

func (n elvis) eval(values []float64) (Value, error) {
	v, err := n.condition.eval(values)
	if err != nil || v.truth() {
		return v, err
	}
	return n.otherwise.eval(values)
}

// folded returns the value of what has constant operands only, unless it has none.
func folded(n node, operands ...node) node {
	for _, o := range operands {
		if _, ok := o.(literal); !ok {
			return n
		}
	}
	v, err := n.eval(nil)
	if err != nil {
		return n
	}
	return literal{value: v}
}
