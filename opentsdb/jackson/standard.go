package jackson

// Standard returns the first value of a text as JSON of the standard, for readers of documents: numbers that JSON
// does not have are in quotes. It has no more bytes than the text and two for each of them.
func Standard(text []byte) ([]byte, error) {
	var out []byte
	err := Read(text, func(s *Scanner) (err error) {
		out, err = s.standard(nil, 0)
		return err
	})
	return out, err
}

// standard appends the next value.
func (s *Scanner) standard(dst []byte, depth int) (_ []byte, err error) {
	if depth > MaxDepth {
		return dst, s.Fail("nested too deeply")
	}
	first := true
	comma := func() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
	}
	switch s.Space() {
	case '{':
		dst = append(dst, '{')
		err = s.Object(func(name Scalar) (err error) {
			comma()
			dst = append(name.appendTo(dst), ':')
			dst, err = s.standard(dst, depth+1)
			return err
		})
		return append(dst, '}'), err
	case '[':
		dst = append(dst, '[')
		err = s.Array(func() (err error) {
			comma()
			dst, err = s.standard(dst, depth+1)
			return err
		})
		return append(dst, ']'), err
	}
	value, err := s.Scalar()
	return value.appendTo(dst), err
}

// appendTo appends a scalar as JSON.
func (s Scalar) appendTo(dst []byte) []byte {
	switch word := string(s.Raw); {
	case s.Kind == Null:
		return append(dst, "null"...)
	case s.Kind == Number, s.Kind == Word && (word == "true" || word == "false"):
		return append(dst, word...)
	}
	return append(append(append(dst, '"'), s.Raw...), '"')
}
