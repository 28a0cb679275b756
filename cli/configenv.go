package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/didyoumean"
)

// envPrefix begins the environment variables that set flags: TSDBRIDGE_STORAGE_ENGINE sets
// --storage.engine.
const envPrefix = "TSDBRIDGE_"

// variables returns environment variables by their names.
func variables(environ []string) map[string]string {
	all := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		all[name] = value
	}
	return all
}

// variableOf returns the environment variable that sets a flag.
func variableOf(flag string) string {
	return envPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(flag))
}

// fromEnvironment returns the flags that environment variables set. A list has one value in a line.
func (p *parser) fromEnvironment(environment map[string]string) (set []setting, err error) {
	for _, f := range p.app.Model().Flags {
		variable := variableOf(f.Name)
		text, ok := environment[variable]
		if !ok || !isSetting(f) && f.Name != configFlag {
			continue
		}
		values := []string{text}
		if cumulative(p.app.GetFlag(f.Name)) {
			values = strings.FieldsFunc(text, func(c rune) bool { return c == '\n' })
		}
		for _, value := range values {
			s := setting{name: f.Name, value: value, where: variable}
			if err := p.try(s); err != nil {
				return nil, fmt.Errorf("%s: %w", variable, err)
			}
			set = append(set, s)
		}
	}
	return set, nil
}

// misspelled returns the environment variables that nearly have the name of one that sets a flag, with
// that name. Others with the prefix are left alone: Kubernetes sets some by the names of services.
func (p *parser) misspelled(environment map[string]string) (found []string) {
	var known []string
	for _, f := range p.app.Model().Flags {
		known = append(known, variableOf(f.Name))
	}
	for name := range environment {
		if !strings.HasPrefix(name, envPrefix) || slices.Contains(known, name) {
			continue
		}
		near := didyoumean.Names(strings.TrimPrefix(name, envPrefix), trimmed(known), 1)
		if len(near) > 0 {
			found = append(found, name+" (did you mean "+envPrefix+near[0]+"?)")
		}
	}
	slices.Sort(found)
	return found
}

// trimmed returns names without the prefix, which would count as letters that are alike.
func trimmed(names []string) []string {
	short := make([]string, len(names))
	for i, name := range names {
		short[i] = strings.TrimPrefix(name, envPrefix)
	}
	return short
}
