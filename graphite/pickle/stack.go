package pickle

// stack has the values that opcodes take, in parts that begin with a mark.
type stack struct {
	values []Value
	marks  []int // where the items of each mark begin in values
}

func (s *stack) push(v Value) { s.values = append(s.values, v) }

// floor is where the items of the last mark begin.
func (s *stack) floor() int {
	if len(s.marks) == 0 {
		return 0
	}
	return s.marks[len(s.marks)-1]
}

func (s *stack) pop() (Value, error) {
	if len(s.values) == s.floor() {
		return Value{}, errStack
	}
	v := s.values[len(s.values)-1]
	s.values = s.values[:len(s.values)-1]
	return v, nil
}

// top returns the last value without taking it.
func (s *stack) top() (Value, error) {
	if len(s.values) == s.floor() {
		return Value{}, errStack
	}
	return s.values[len(s.values)-1], nil
}

// marked takes the items since the last mark. They are valid until the next push.
func (s *stack) marked() ([]Value, error) {
	if len(s.marks) == 0 {
		return nil, errStack
	}
	from := s.marks[len(s.marks)-1]
	s.marks = s.marks[:len(s.marks)-1]
	items := s.values[from:]
	s.values = s.values[:from]
	return items, nil
}

// drop takes the last value, or the mark that has nothing behind it.
func (s *stack) drop() error {
	if n := len(s.marks); n > 0 && s.marks[n-1] == len(s.values) {
		s.marks = s.marks[:n-1]
		return nil
	}
	_, err := s.pop()
	return err
}
