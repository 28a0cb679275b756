package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/didyoumean"
)

// EnvPrefix begins the environment variables that set flags: TSDBRIDGE_STORAGE_ENGINE sets
// --storage.engine.
const EnvPrefix = "TSDBRIDGE_"

// Variables returns environment variables by their names.
func Variables(environ []string) map[string]string {
	all := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		all[name] = value
	}
	return all
}

// variableOf returns the environment variable that sets a flag.
func variableOf(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(flag))
}

// fromEnvironment returns the flags that environment variables set. A list has one value in a line.
func (f *Flags) fromEnvironment(environment map[string]string) (set []Setting, err error) {
	for _, flag := range f.app.Model().Flags {
		variable := variableOf(flag.Name)
		text, ok := environment[variable]
		if !ok || !IsSetting(flag) && flag.Name != ConfigFlag {
			continue
		}
		values := []string{text}
		if Cumulative(f.app.GetFlag(flag.Name)) {
			values = strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
		}
		for _, value := range values {
			s := Setting{Name: flag.Name, Value: value, where: variable}
			if err := f.try(s); err != nil {
				return nil, fmt.Errorf("%s: %w", variable, err)
			}
			set = append(set, s)
		}
	}
	return set, nil
}

// misspelled returns the environment variables that nearly have the name of one that sets a flag, with
// that name. Others with the prefix are left alone: Kubernetes sets some by the names of services.
func (f *Flags) misspelled(environment map[string]string) (found []string) {
	var known []string
	for _, name := range f.names() {
		known = append(known, variableOf(name))
	}
	for name := range environment {
		if !strings.HasPrefix(name, EnvPrefix) || slices.Contains(known, name) {
			continue
		}
		near := didyoumean.Names(strings.TrimPrefix(name, EnvPrefix), trimmed(known), 1)
		if len(near) > 0 {
			found = append(found, name+" (did you mean "+EnvPrefix+near[0]+"?)")
		}
	}
	slices.Sort(found)
	return found
}

// trimmed returns names without the prefix, which would count as letters that are alike.
func trimmed(names []string) []string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = strings.TrimPrefix(name, EnvPrefix)
	}
	return short
}
