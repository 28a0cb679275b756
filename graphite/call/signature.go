package call

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// ParamType is how graphite-web's /functions names the type of a parameter.
type ParamType string

// The types of parameters.
const (
	TypeAggFunc         ParamType = "aggFunc"
	TypeAggOrSeriesFunc ParamType = "aggOrSeriesFunc"
	TypeAny             ParamType = "any"
	TypeBoolean         ParamType = "boolean"
	TypeDate            ParamType = "date"
	TypeFloat           ParamType = "float"
	TypeInteger         ParamType = "integer"
	TypeInterval        ParamType = "interval"
	TypeIntOrInf        ParamType = "intOrInf"
	TypeIntOrInterval   ParamType = "intOrInterval"
	TypeNode            ParamType = "node"
	TypeNodeOrTag       ParamType = "nodeOrTag"
	TypeSeriesList      ParamType = "seriesList"
	TypeSeriesLists     ParamType = "seriesLists"
	TypeString          ParamType = "string"
	TypeTag             ParamType = "tag"
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

	Aggregator bool // May be the callback of groupByNode and its like by declaration.
	Call       func(*Call) ([]*series.Series, error)
	Lists      func(*Call) ([][]*series.Series, error) // mapSeries only.
	// Windows are the further windows in which the function evaluates its first argument again, as
	// far as they are known before anything is fetched.
	Windows func(*Call) ([]Window, error)

	formal   []formal
	variadic bool // The last formal takes the rest.
}

// formal is a parameter of the Python function.
type formal struct {
	name     string
	optional bool
	value    any
}

// ParseSignature reads "seriesList, func='sum', *rest".
func (f *Function) ParseSignature() {
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
		return python.Inf()
	}
	if n, ok := python.ParseInt(s); ok {
		return n
	}
	if n, ok := python.ParseFloat(s); ok {
		return n
	}
	return strings.Trim(s, "'")
}

// Bind assigns arguments to formals as a Python call does. The value of a variadic formal is a
// []any.
func (f *Function) Bind(args []any, kwargs map[string]any) ([]any, error) {
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

// Validate checks and converts arguments by the declared parameters. graphite-web only logs a
// failure and goes on with the arguments as they were, so the result of a failure is for the caller
// to drop.
func (f *Function) Validate(args []any, kwargs map[string]any) ([]any, map[string]any, error) {
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
	if len(p.Options) > 0 && !slices.ContainsFunc(p.Options, func(o any) bool { return python.Equal(o, v) }) {
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
	case TypeBoolean:
		return toBool(v)
	case TypeFloat:
		return toFloat(v)
	case TypeInteger, TypeNode:
		return toInteger(v)
	case TypeIntOrInf:
		if n, ok := toInteger(v); ok {
			return n, true
		}
		f, ok := toFloat(v)
		return f, ok && f == python.Inf()
	case TypeInterval:
		s, isText := v.(string)
		_, err := timespec.ParseOffset(s)
		return v, isText && err == nil
	case TypeSeriesList:
		_, ok := v.([]*series.Series)
		return v, ok
	case TypeSeriesLists:
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
		return python.Number(v)
	}
}

// toInteger refuses floats: an error is better than a silent change.
func toInteger(v any) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		return int64(python.OfBool(v)), true
	case string:
		n, ok := python.ParseInt(v)
		return n, ok
	}
	return nil, false
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
	n, _ := python.Number(v)
	return n != 0
}

// Many returns the parameter as one that takes any number of values.
func (p Param) Many() Param {
	p.Multiple = true
	return p
}

// WithOptions returns the parameter with the values that it may have.
func (p Param) WithOptions(values ...any) Param {
	p.Options = values
	return p
}

// Suggesting returns the parameter with values to suggest.
func (p Param) Suggesting(values ...any) Param {
	p.Suggestions = values
	return p
}
