package schema

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// A Custom holds the custom keys of a UIDMeta or a TSMeta document, each once; nil is null. Its order
// is that in which they were added, as far as it matters (see AppendTo).
type Custom []CustomKey

// A CustomKey is one of them.
type CustomKey struct{ Name, Value string }

// Get returns the value of a key, "" without it.
func (c Custom) Get(name string) string {
	if i := c.find(name); i >= 0 {
		return c[i].Value
	}
	return ""
}

func (c Custom) find(name string) int {
	return slices.IndexFunc(c, func(k CustomKey) bool { return k.Name == name })
}

// With returns the keys with another value for one; "" removes it. The result is not nil.
func (c Custom) With(name, value string) Custom {
	out := append(make(Custom, 0, len(c)+1), c...)
	i := c.find(name)
	switch {
	case i < 0 && value != "":
		return append(out, CustomKey{name, value})
	case i >= 0 && value == "":
		return slices.Delete(out, i, i+1)
	case i >= 0:
		out[i].Value = value
	}
	return out
}

// Map returns the values by their keys.
func (c Custom) Map() map[string]string {
	m := make(map[string]string, len(c))
	for _, k := range c {
		m[k.Name] = k.Value
	}
	return m
}

// AppendTo appends the object in the order of a Java HashMap that was made of the keys in their order,
// as OpenTSDB makes and prints it, or null: by buckets, of which there are a power of two, and within
// one as they came.
func (c Custom) AppendTo(dst []byte) []byte {
	if c == nil {
		return append(dst, "null"...)
	}
	buckets := uint32(1)
	for int(buckets) < (4*len(c)+3)/3 { // HashMap.putMapEntries of Java 17: by its load factor, and one more
		buckets *= 2
	}
	type placed struct {
		bucket uint32
		CustomKey
	}
	order := make([]placed, len(c))
	for i, k := range c {
		h := NameHash(k.Name)
		order[i] = placed{(h ^ h>>16) & (buckets - 1), k}
	}
	slices.SortStableFunc(order, func(a, b placed) int { return cmp.Compare(a.bucket, b.bucket) })
	dst = append(dst, '{')
	for i, k := range order {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, k.Name), ':')
		dst = appendString(dst, k.Value)
	}
	return append(dst, '}')
}

// maxCustomKeys bounds the keys of a document.
const maxCustomKeys = 10_000

// custom returns a field with an object of texts in its order; nil for null and for what is missing.
func (f *fields) custom() Custom {
	const name = "custom"
	raw := f.members[name]
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	members, err := parseMembers(raw)
	if err == nil && len(members) > maxCustomKeys {
		err = errors.New("too many keys")
	}
	if err != nil {
		f.fail(name, err)
		return nil
	}
	values, c := fieldsOf(members, nil), make(Custom, 0, len(members))
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		if !seen[m.name] {
			seen[m.name] = true
			c = append(c, CustomKey{m.name, values.scalar(m.name)})
		}
	}
	if values.err != nil {
		f.fail(name, fmt.Errorf("want texts: %w", values.err))
	}
	return c
}
