package adapter

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Hidden is shown instead of the value of a secret.
const Hidden = "<secret>"

// ShownConfig returns the configuration that holds, as a configuration file: the flags wherever they were set,
// the lists, and the keys of a Prometheus' configuration. Secrets are hidden.
func (o Options) ShownConfig() (string, error) {
	top := &yaml.Node{Kind: yaml.MappingNode}
	for _, name := range slices.Sorted(maps.Keys(o.Flags)) {
		if value := o.shownFlag(name); value != nil && !slices.Contains(o.NotInFile, name) {
			top.Content = append(top.Content, plainNode(name), value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Lists)) {
		top.Content = append(top.Content, plainNode(name), o.Lists[name])
	}
	shown, err := o.PromConfig.Shown()
	if err != nil {
		return "", err
	}
	top.Content = append(top.Content, shown...)
	return encodeYAML(top)
}

func encodeYAML(node *yaml.Node) (string, error) {
	var text bytes.Buffer
	e := yaml.NewEncoder(&text)
	e.SetIndent(2)
	err := e.Encode(node)
	return text.String(), err
}

// shownFlag returns the value of a flag, or its values; nil: it is not set.
func (o Options) shownFlag(name string) *yaml.Node {
	value, several := o.Flags[name], o.Several[name]
	switch {
	case value == "":
		return nil
	case value == Hidden || several == nil:
		return plainNode(value)
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, one := range several {
		list.Content = append(list.Content, plainNode(one))
	}
	return list
}

// plainNode is a plain value. It has no type, so it needs no quotes.
func plainNode(value string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: value} }

// withoutSecrets returns the words of a command line with Hidden for the value of each flag that
// flags hides.
func withoutSecrets(args []string, flags map[string]string) []string {
	args = slices.Clone(args)
	for i, arg := range args {
		flag, isFlag := strings.CutPrefix(arg, "--")
		name, _, hasValue := strings.Cut(flag, "=")
		switch {
		case !isFlag || flags[name] != Hidden:
		case hasValue:
			args[i] = "--" + name + "=" + Hidden
		case i+1 < len(args):
			args[i+1] = Hidden
		}
	}
	return args
}
