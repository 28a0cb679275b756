package adapter

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Where paths are looked up.
const (
	TreeIndexMemory = "memory"
	TreeIndexTable  = "table"
)

// Which trees turn dotted names into metric and tags, in addition to lists of names.
const (
	InverseAll  = "all"
	InverseNone = "none"
)

// GraphiteOptions are the flags --graphite.*: those of the protocols, and those of the trees that
// names are found in.
type GraphiteOptions struct {
	graphite.Options

	DefaultTree  string        // --graphite.default-tree
	Templates    []string      // --graphite.template
	InverseTrees string        // --graphite.inverse-trees: all, none or names
	TreeIndex    string        // --graphite.tree-index: memory or table
	Trees        []config.Tree // of the configuration file, under trees
}

// DefaultGraphiteOptions returns the options without any flag.
func DefaultGraphiteOptions() GraphiteOptions {
	return GraphiteOptions{
		Options: graphite.DefaultOptions(), DefaultTree: "graphite", InverseTrees: InverseAll, TreeIndex: TreeIndexMemory,
	}
}

// Validate names the flag that cannot work.
func (o GraphiteOptions) Validate() error {
	switch o.TreeIndex {
	case TreeIndexMemory, TreeIndexTable:
	default:
		return fmt.Errorf("--graphite.tree-index=%s: want memory or table", o.TreeIndex)
	}
	definitions, err := o.definitions()
	if err != nil {
		return err
	}
	for _, d := range definitions {
		if d.Name == o.DefaultTree {
			return fmt.Errorf("trees: %s is the name of --graphite.default-tree, whose rules are its own: name one of them otherwise", d.Name)
		}
	}
	return o.Options.Validate()
}

// templates returns the trees of --graphite.template, each under its text.
func (o GraphiteOptions) templates() ([]tree.Definition, error) {
	var all []tree.Definition
	for _, text := range o.Templates {
		t, err := tree.ParseTemplate(text)
		if err != nil {
			return nil, fmt.Errorf("--graphite.template=%s: %w", text, err)
		}
		all = append(all, t.Definition(text))
	}
	return all, nil
}

// definitions returns all declared trees, those of the configuration file first.
func (o GraphiteOptions) definitions() ([]tree.Definition, error) {
	all := make([]tree.Definition, 0, len(o.Trees)+len(o.Templates))
	for _, t := range o.Trees {
		all = append(all, t.Definition)
	}
	templates, err := o.templates()
	return append(all, templates...), err
}

// sources returns where trees are declared, by their names.
func (o GraphiteOptions) sources() map[string]string {
	sources := map[string]string{}
	for _, text := range o.Templates {
		sources[text] = "--graphite.template=" + text
	}
	for _, t := range o.Trees {
		sources[t.Name] = fmt.Sprintf("--config.file, trees, line %d", t.Line)
	}
	if o.DefaultTree != "" {
		sources[o.DefaultTree] = "--graphite.default-tree=" + o.DefaultTree
	}
	return sources
}

// inverts reports whether a tree turns dotted names into metric and tags.
func (o GraphiteOptions) inverts(t *tree.Tree) bool {
	switch o.InverseTrees {
	case InverseAll:
		return t.Definition().Enabled
	case InverseNone:
		return false
	}
	for name := range strings.SplitSeq(o.InverseTrees, ",") {
		if strings.TrimSpace(name) == t.Definition().Name {
			return true
		}
	}
	return false
}

// treeOptions returns the options of a forest over the tables.
func (o GraphiteOptions) treeOptions(of tables.Options, names *translate.Translator) forest.Options {
	t := forest.DefaultOptions()
	t.TreeTable, t.UIDTable, t.Exclusive = of.TableTree, of.TableUID, of.Engine != tables.EngineHBase
	t.Shown, t.Plain, t.DefaultTree, t.Inverse = translate.Shown, names.Plain, o.DefaultTree, o.inverts
	t.Stored, t.Rest = names.FromShown, names.RestOf
	return t
}
