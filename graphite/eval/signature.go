package eval

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// ParamType is how graphite-web's /functions names the type of a parameter.
type ParamType string

const (
	typeAggFunc         ParamType = "aggFunc"
	typeAggOrSeriesFunc ParamType = "aggOrSeriesFunc"
	typeAny             ParamType = "any"
	typeBoolean         ParamType = "boolean"
	typeDate            ParamType = "date"
	typeFloat           ParamType = "float"
	typeInteger         ParamType = "integer"
	typeInterval        ParamType = "interval"
	typeIntOrInf        ParamType = "intOrInf"
	typeIntOrInterval   ParamType = "intOrInterval"
	typeNode            ParamType = "node"
	typeNodeOrTag       ParamType = "nodeOrTag"
	typeSeriesList      ParamType = "seriesList"
	typeSeriesLists     ParamType = "seriesLists"
	typeString          ParamType = "string"
	typeTag             ParamType = "tag"
)

// Param is a parameter as /functions shows it. Values are nil, bool, int64, float64 or string.
type Param struct {
	Name        string
	Type        ParamType
	Required    bool
	Multiple    bool // The last parameter, any number of times.
	Default     any
	Options     []any
	Suggestions []any
}

// Function is a Graphite function: what /functions shows of it, and the code.
type Function struct {
	Name  string
	Group string
	// Signature is the parameter list of the Python function, which decides how arguments are
	// bound. Its names differ from those of Params here and there.
	Signature string
	// Doc is one sentence.
	Doc    string
	Params []Param

	aggregator bool // May be the callback of groupByNode and its like by declaration.
	call       func(*call) ([]*series.Series, error)
	lists      func(*call) ([][]*series.Series, error) // mapSeries only.
	// windows are the further windows in which the function evaluates its first argument again, as
	// far as they are known before anything is fetched.
	windows func(*call) ([]window, error)

	formal   []formal
	variadic bool // The last formal takes the rest.
}

// inf returns the default of limits.
func inf() float64 { return math.Inf(1) }

// formal is a parameter of the Python function.
type formal struct {
	name     string
	optional bool
	value    any
}

// parseSignature reads "seriesList, func='sum', *rest".
func (f *Function) parseSignature() {
	if f.Signature == "" {
		return
	}
	for part := range strings.SplitSeq(f.Signature, ", ") {
		if rest, ok := strings.CutPrefix(part, "*"); ok {
			f.formal, f.variadic = append(f.formal, formal{name: rest}), true
			continue
		}
		name, value, optional := strings.Cut(part, "=")
		f.formal = append(f.formal, formal{name, optional, literal(value)})
	}
}

// literal reads a default value of a signature.
func literal(s string) any {
	switch s {
	case "", "None":
		return nil
	case "True":
		return true
	case "False":
		return false
	case "inf":
		return inf()
	}
	if n, ok := python.ParseInt(s); ok {
		return n
	}
	if n, ok := python.ParseFloat(s); ok {
		return n
	}
	return strings.Trim(s, "'")
}

// bind assigns arguments to formals as a Python call does. The value of a variadic formal is a
// []any.
func (f *Function) bind(args []any, kwargs map[string]any) ([]any, error) {
	bound := make([]any, len(f.formal))
	plain := len(f.formal)
	if f.variadic {
		plain--
		bound[plain] = slices.Clone(args[min(plain, len(args)):])
	} else if len(args) > plain {
		return nil, python.Crash("%s() takes %d arguments but %d were given", f.Name, plain, len(args))
	}
	used := 0
	for i, p := range f.formal[:plain] {
		value, keyword := kwargs[p.name]
		if keyword {
			used++
		}
		switch {
		case i < len(args) && keyword:
			return nil, python.Crash("%s() got multiple values for argument '%s'", f.Name, p.name)
		case i < len(args):
			value = args[i]
		case !keyword && !p.optional:
			return nil, python.Crash("%s() missing required argument: '%s'", f.Name, p.name)
		case !keyword:
			value = p.value
		}
		bound[i] = value
	}
	if used < len(kwargs) {
		return nil, f.unexpected(kwargs)
	}
	return bound, nil
}

// unexpected returns the error about a keyword that is none of the function's.
func (f *Function) unexpected(kwargs map[string]any) error {
	names := make([]string, len(f.formal))
	for i, p := range f.formal {
		names[i] = p.name
	}
	for _, keyword := range slices.Sorted(maps.Keys(kwargs)) {
		if !slices.Contains(names, keyword) {
			err := python.Crash("%s() got an unexpected keyword argument '%s'", f.Name, python.Excerpt(keyword, python.MaxExcerpt))
			return python.Unknown(err, keyword, names)
		}
	}
	return python.Crash("%s() got an unexpected keyword argument", f.Name)
}

// validate checks and converts arguments by the declared parameters. graphite-web only logs a
// failure and goes on with the arguments as they were, so the result of a failure is for the caller
// to drop.
func (f *Function) validate(args []any, kwargs map[string]any) ([]any, map[string]any, error) {
	if len(f.Params) == 0 && len(args)+len(kwargs) > 0 {
		return nil, nil, fmt.Errorf("too many parameters for %s", f.Name)
	}
	positional, named := f.Params, []Param(nil)
	if len(args)+len(kwargs) > len(f.Params) {
		if !f.Params[len(f.Params)-1].Multiple {
			return nil, nil, fmt.Errorf("too many parameters for %s", f.Name)
		}
	} else {
		positional, named = f.Params[:len(args)], f.Params[len(args):]
	}
	checked := make([]any, len(args))
	for i, a := range args {
		v, err := positional[min(i, len(positional)-1)].check(a)
		if err != nil {
			return nil, nil, err
		}
		checked[i] = v
	}
	keywords := map[string]any{}
	for _, p := range named {
		value, ok := kwargs[p.Name]
		switch {
		case (!ok || value == nil) && p.Required:
			return nil, nil, fmt.Errorf("missing required parameter %s", p.Name)
		case !ok || value == nil:
			continue
		}
		v, err := p.check(value)
		if err != nil {
			return nil, nil, err
		}
		keywords[p.Name] = v
	}
	if len(keywords) < len(kwargs) {
		return nil, nil, fmt.Errorf("unexpected keyword argument for %s", f.Name)
	}
	return checked, keywords, nil
}

// check validates and converts one value.
func (p Param) check(v any) (any, error) {
	if v == nil && (p.Default != nil || !p.Required) {
		return v, nil
	}
	if len(p.Options) > 0 && !slices.ContainsFunc(p.Options, func(o any) bool { return equal(o, v) }) {
		return nil, fmt.Errorf("%s is no option of %s", python.Text(v), p.Name)
	}
	out, ok := p.convert(v)
	if !ok {
		return nil, fmt.Errorf("%s is no %s", python.Text(v), p.Type)
	}
	return out, nil
}

func (p Param) convert(v any) (any, bool) {
	switch p.Type {
	case typeBoolean:
		return toBool(v)
	case typeFloat:
		return toFloat(v)
	case typeInteger, typeNode:
		return toInteger(v)
	case typeIntOrInf:
		if n, ok := toInteger(v); ok {
			return n, true
		}
		f, ok := toFloat(v)
		return f, ok && f == inf()
	case typeInterval:
		s, isText := v.(string)
		_, err := timespec.ParseOffset(s)
		return v, isText && err == nil
	case typeSeriesList:
		_, ok := v.([]*series.Series)
		return v, ok
	case typeSeriesLists:
		_, ok := v.([][]*series.Series)
		return v, ok
	}
	return v, true
}

func toBool(v any) (any, bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		low := strings.ToLower(v)
		return low == "true", low == "true" || low == "false"
	case int64:
		return v == 1, v == 0 || v == 1
	case float64:
		return v == 1, v == 0 || v == 1
	}
	return truth(v), true
}

func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case string:
		return python.ParseFloat(v)
	default:
		return number(v)
	}
}

// toInteger refuses floats: an error is better than a silent change.
func toInteger(v any) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		return int64(toNumber(v)), true
	case string:
		n, ok := python.ParseInt(v)
		return n, ok
	}
	return nil, false
}

// number returns the value of an int, a float or a bool.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		return toNumber(v), true
	}
	return 0, false
}

func toNumber(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// truth is Python's bool(v).
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []*series.Series:
		return len(v) > 0
	case [][]*series.Series:
		return len(v) > 0
	}
	n, _ := number(v)
	return n != 0
}

// equal is Python's ==, in which 1, 1.0 and True are one.
func equal(a, b any) bool {
	x, xok := number(a)
	y, yok := number(b)
	if xok || yok {
		return xok && yok && x == y
	}
	s, sok := a.(string)
	t, tok := b.(string)
	return sok && tok && s == t || a == nil && b == nil
}
