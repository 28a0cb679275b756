package rules

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	texttemplate "text/template"

	"github.com/grafana/regexp"
	"github.com/prometheus/prometheus/model/histogram"
)

const (
	// maxWork bounds what the functions of a template return together, in bytes, with stepBytes for each time that a part of it is
	// gone through.
	maxWork   = 64 << 20
	stepBytes = 64
	// scalarBytes is how long a number, a time or the like may be as text.
	scalarBytes = 400
	// mostEscaped is how many times longer a text may become by escapes.
	mostEscaped = 10
	// widest is the largest width and precision that fmt takes.
	widest = 1_000_000
)

// An expansion counts what a template does, and ends it when that is too much.
type expansion struct {
	ctx     context.Context //nolint:containedctx // of the expansion
	work    int64
	printed int64
	err     error // why it was ended
}

func (x *expansion) fail(format string, args ...any) error {
	if x.err == nil {
		x.err = fmt.Errorf(format, args...)
	}
	return x.err
}

// spend counts work that is done.
func (x *expansion) spend(n int64) error {
	if err := x.ctx.Err(); err != nil {
		return x.fail("%w", err)
	}
	x.work += min(n, maxWork)
	return x.fits(n)
}

// fits ends the expansion if some more work is too much.
func (x *expansion) fits(n int64) error {
	if n > maxWork || x.work > maxWork {
		return x.fail("its template takes more than %d bytes, or more than %d steps: make it shorter", int64(maxWork), int64(maxWork/stepBytes))
	}
	return nil
}

// functions are those that count, and those of templates whose results may be much longer than what they are given.
func (x *expansion) functions() texttemplate.FuncMap {
	all := texttemplate.FuncMap{
		countStep:      func() (string, error) { return "", x.spend(stepBytes) },
		countValue:     func(v any) (any, error) { return v, x.spend(sizeOf(v).bytes) },
		countOutput:    x.output,
		"printf":       x.printf,
		"reReplaceAll": x.reReplaceAll,
		"match":        x.match,
	}
	for name, f := range map[string]func(args ...any) string{
		"print": fmt.Sprint, "println": fmt.Sprintln,
		"html": texttemplate.HTMLEscaper, "js": texttemplate.JSEscaper, "urlquery": texttemplate.URLQueryEscaper,
	} {
		all[name] = func(args ...any) (string, error) {
			if err := x.fits(sizeOf(args...).bytes * mostEscaped); err != nil {
				return "", err
			}
			text := f(args...)
			return text, x.spend(int64(len(text)))
		}
	}
	return all
}

// output counts what is printed.
func (x *expansion) output(v any) (any, error) {
	if err := x.fits(sizeOf(v).bytes); err != nil {
		return nil, err
	}
	n := int64(len(fmt.Sprint(v)))
	if x.printed += n; x.printed > maxText {
		return nil, x.fail("it is longer than %d bytes", int64(maxText))
	}
	return v, x.spend(n)
}

func (x *expansion) printf(format string, args ...any) (string, error) {
	all := sizeOf(args...)
	width := numbersIn(format)
	for _, arg := range args {
		if v := reflect.ValueOf(arg); v.CanInt() && strings.Contains(format, "*") {
			width += int64(strings.Count(format, "*")) * min(max(v.Int(), -v.Int()), widest)
		}
	}
	bound := int64(len(format)) + width*all.parts + int64(1+strings.Count(format, "%"))*all.bytes*mostEscaped
	if err := x.fits(bound); err != nil {
		return "", err
	}
	text := fmt.Sprintf(format, args...)
	return text, x.spend(int64(len(text)))
}

// numbersIn adds up the widths and precisions of a format.
func numbersIn(format string) (sum int64) {
	n := int64(0)
	for _, c := range format {
		if c >= '0' && c <= '9' {
			n = min(n*10+int64(c-'0'), widest)
			continue
		}
		sum, n = sum+n, 0
	}
	return sum + n
}

func (x *expansion) reReplaceAll(pattern, by, text string) (string, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	if err := x.spend(matching(pattern, text)); err != nil {
		return "", err
	}
	matches := int64(len(re.FindAllStringIndex(text, -1)))
	if err := x.fits(int64(len(text))*int64(1+strings.Count(by, "$")) + matches*int64(len(by))); err != nil {
		return "", err
	}
	result := re.ReplaceAllString(text, by)
	return result, x.spend(int64(len(result)))
}

func (x *expansion) match(pattern, text string) (bool, error) {
	if err := x.spend(matching(pattern, text)); err != nil {
		return false, err
	}
	return regexp.MatchString(pattern, text)
}

// matching is about the work of a regular expression.
func matching(pattern, text string) int64 { return int64(len(pattern)) * int64(1+len(text)/16) }

// A size is how long values are as text, and of how many parts they are made.
type size struct{ bytes, parts int64 }

// sizeOf bounds the text of values. It looks at no more than the bounds allow.
func sizeOf(values ...any) (s size) {
	for _, v := range values {
		s.add(reflect.ValueOf(v), true)
	}
	return s
}

func (s *size) add(v reflect.Value, top bool) {
	s.parts++
	s.bytes += scalarBytes
	if s.bytes > maxWork || !v.IsValid() {
		return
	}
	switch v.Kind() { //nolint:exhaustive // the others are short
	case reflect.String:
		s.bytes += int64(v.Len())
	case reflect.Interface:
		s.add(v.Elem(), top)
	case reflect.Pointer:
		if h, ok := reflect.TypeAssert[*histogram.FloatHistogram](v); ok {
			s.bytes += histogramBytes(h)
		} else if top { // fmt writes addresses below
			s.add(v.Elem(), false)
		}
	case reflect.Map:
		for it := v.MapRange(); s.bytes <= maxWork && it.Next(); {
			s.add(it.Key(), false)
			s.add(it.Value(), false)
		}
	case reflect.Slice, reflect.Array:
		for i := 0; s.bytes <= maxWork && i < v.Len(); i++ {
			s.add(v.Index(i), false)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				s.add(v.Field(i), false)
			}
		}
	}
}

// histogramBytes bounds the text of a histogram.
func histogramBytes(h *histogram.FloatHistogram) int64 {
	if h == nil {
		return scalarBytes
	}
	const bucket = 100
	n := len(h.PositiveBuckets) + len(h.NegativeBuckets) + len(h.CustomValues)
	for _, span := range h.PositiveSpans {
		n += int(span.Length)
	}
	for _, span := range h.NegativeSpans {
		n += int(span.Length)
	}
	return scalarBytes + int64(n)*bucket
}
