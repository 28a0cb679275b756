package javaregexp

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

// Limits of a pattern. They are far above what people write.
const (
	maxPattern = 32 << 10 // bytes
	maxSize    = 64 << 10 // see Size; of what Go's engine runs
	maxRanges  = 64 << 10 // of characters, in all classes together
)

// ErrTooLarge is the error of a pattern that takes too much memory. Its text names the limit.
var ErrTooLarge = errors.New("the pattern is too large")

func checkLength(pattern string) error {
	if len(pattern) > maxPattern {
		return fmt.Errorf("%w: %d bytes, at most %d are read", ErrTooLarge, len(pattern), maxPattern)
	}
	return nil
}

// Size returns how many instructions a pattern compiles to, about; for a letter, one. It refuses what
// Compile refuses.
func Size(pattern string) (int, error) {
	r, err := Compile(pattern)
	if err != nil {
		return 0, err
	}
	return r.Size(), nil
}

// Size returns how many instructions the pattern has, about; for a letter, one.
func (r *Regexp) Size() int { return r.size }

// size returns how many instructions an expression compiles to. Sums stop growing above maxSize.
func size(e *syntax.Regexp) int {
	n := 1
	switch e.Op {
	case syntax.OpLiteral:
		n = len(e.Rune)
	case syntax.OpCharClass:
		n = 1 + len(e.Rune)/8 // ranges take memory, too
	case syntax.OpRepeat:
		sub, times := size(e.Sub[0])+1, max(e.Min, e.Max, 1)
		n = min(sub*times, maxSize+1)
	default:
		for _, sub := range e.Sub {
			n = min(n+size(sub)+1, maxSize+1)
		}
	}
	return n
}
