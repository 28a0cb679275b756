package adapter

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/tree"
)

// CarbonOptions are those of the listener for carbon's lines.
type CarbonOptions struct {
	ListenAddress  string        // --carbon.listen-address; empty: no listener
	UDP            bool          // --carbon.udp
	MaxConnections int           // --carbon.max-connections
	IdleTimeout    time.Duration // --carbon.idle-timeout; 0: never
	KeepOpen       bool          // --carbon.keep-open
	MaxFuture      time.Duration // --carbon.max-future: how far ahead of the clock a point may be; 0: any time
}

// DefaultCarbonOptions are the options without any flag.
func DefaultCarbonOptions() CarbonOptions {
	return CarbonOptions{UDP: true, MaxConnections: 1000}
}

// Validate names the flag that cannot work.
func (o CarbonOptions) Validate() error {
	switch {
	case o.MaxConnections <= 0:
		return errors.New("--carbon.max-connections must be above 0")
	case o.IdleTimeout < 0:
		return errors.New("--carbon.idle-timeout must not be negative")
	case o.MaxFuture < 0:
		return errors.New("--carbon.max-future must not be negative")
	}
	return nil
}

// Where paths are looked up.
const (
	TreeIndexMemory = "memory"
	TreeIndexTable  = "table"
)

// Which trees turn dotted names into metric and tags, beside lists of names.
const (
	InverseAll  = "all"
	InverseNone = "none"
)

// GraphiteOptions are those of Graphite's side: names, trees, render.
type GraphiteOptions struct {
	Schemas      string   // --graphite.storage-schemas: file
	Aggregation  string   // --graphite.storage-aggregation: file
	DefaultTree  string   // --graphite.default-tree
	Templates    []string // --graphite.template
	InverseTrees string   // --graphite.inverse-trees: all, none or names
	TreeIndex    string   // --graphite.tree-index: memory or table
	TimeZone     string   // --graphite.time-zone
	UTF8Metrics  bool     // --graphite.utf8-metrics

	// Trees are declared in the configuration file, under trees.
	Trees []TreeConfig
}

// DefaultGraphiteOptions are the options without any flag.
func DefaultGraphiteOptions() GraphiteOptions {
	return GraphiteOptions{
		DefaultTree: "graphite", InverseTrees: InverseAll, TreeIndex: TreeIndexMemory, TimeZone: "UTC",
	}
}

// Validate names the flag that cannot work.
func (o GraphiteOptions) Validate() error {
	switch o.TreeIndex {
	case TreeIndexMemory, TreeIndexTable:
	default:
		return fmt.Errorf("--graphite.tree-index=%s: want memory or table", o.TreeIndex)
	}
	if _, err := time.LoadLocation(o.TimeZone); err != nil {
		return fmt.Errorf("--graphite.time-zone=%s: %w", o.TimeZone, err)
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
	if _, err := o.schemas(); err != nil {
		return err
	}
	_, err = o.aggregations()
	return err
}

// templates are the trees of --graphite.template, each under its text.
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

// definitions are all trees that are declared, those of the configuration file first.
func (o GraphiteOptions) definitions() ([]tree.Definition, error) {
	all := make([]tree.Definition, 0, len(o.Trees)+len(o.Templates))
	for _, t := range o.Trees {
		all = append(all, t.Definition)
	}
	templates, err := o.templates()
	return append(all, templates...), err
}

// schemas are the rules of the file, nil without one.
func (o GraphiteOptions) schemas() (*conf.Schemas, error) {
	return readRules("--graphite.storage-schemas", o.Schemas, conf.ParseSchemas)
}

// aggregations are the rules of the file, nil without one.
func (o GraphiteOptions) aggregations() (*conf.Aggregations, error) {
	return readRules("--graphite.storage-aggregation", o.Aggregation, conf.ParseAggregations)
}

func readRules[R any](flag, file string, parse func(file, text string) (*R, error)) (*R, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	rules, err := parse(file, string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return rules, nil
}

// inverts says whether a tree turns dotted names into metric and tags.
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
