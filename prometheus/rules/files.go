package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A Config says which rules are evaluated, and how.
type Config struct {
	Files          []string      // paths, or patterns of paths
	Interval       time.Duration // of groups that have none; 0: a minute
	QueryOffset    time.Duration // of groups that have none
	ExternalLabels labels.Labels
	Alerting       config.AlertingConfig // where alerts are sent
	// IgnoreUnknown takes files with fields that nobody knows.
	IgnoreUnknown bool
}

// A Set is the rules of some files, as they were when it was loaded. It does not change.
type Set struct {
	config Config
	parser languageParser
	files  []string // in order
	groups map[string]*rulefmt.RuleGroups
	text   map[string]string
}

// defaultInterval is Prometheus' evaluation interval.
const defaultInterval = time.Minute

func (s *Set) interval() time.Duration {
	if s.config.Interval > 0 {
		return s.config.Interval
	}
	return defaultInterval
}

// Equal reports whether two sets have the same files with the same text.
func (s *Set) Equal(other *Set) bool {
	if s == nil || other == nil {
		return s == other
	}
	return slices.Equal(s.files, other.files) && !slices.ContainsFunc(s.files, func(f string) bool { return s.text[f] != other.text[f] })
}

// A FileError is what is wrong with a rule file.
type FileError struct {
	File string
	Line int // 0: it is not known
	Err  error
}

// Error begins with FILE:LINE, by which editors find the place.
func (e *FileError) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Err.Error()
	}
	return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Err.Error()
}

// Place returns where the error is.
func (e *FileError) Place() (file string, line int) { return e.File, e.Line }

// Unwrap returns the error without its place.
func (e *FileError) Unwrap() error { return e.Err }

// Load reads and checks the rule files of a configuration. It reports all errors at once. A path
// without a pattern must exist.
func Load(c Config, p parser.Parser, languages Checks) (*Set, error) {
	s := &Set{config: c, parser: languageParser{p, languages, c.IgnoreUnknown}, groups: map[string]*rulefmt.RuleGroups{}, text: map[string]string{}}
	errs := []error{c.checkAlerting()}
	for _, pattern := range c.Files {
		files, err := filepath.Glob(pattern)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("rule_files: %q: %w", pattern, err))
		case len(files) == 0 && !strings.ContainsAny(pattern, `*?[\`):
			errs = append(errs, fmt.Errorf("rule_files: %q: there is no such file", pattern))
		}
		for _, file := range files {
			if s.groups[file] == nil {
				errs = append(errs, s.load(file))
			}
		}
	}
	return s, errors.Join(errs...)
}

// ParseSet returns the rules of the text of one file.
func ParseSet(c Config, file string, text []byte, p parser.Parser, languages Checks) (*Set, error) {
	s := &Set{config: c, parser: languageParser{p, languages, c.IgnoreUnknown}, groups: map[string]*rulefmt.RuleGroups{}, text: map[string]string{}}
	return s, s.add(file, text)
}

// Rules returns the number of rules.
func (s *Set) Rules() (n int) {
	for _, groups := range s.groups {
		for _, g := range groups.Groups {
			n += len(g.Rules)
		}
	}
	return n
}

func (s *Set) load(file string) error {
	text, err := fsutil.ReadRegular(file)
	if err != nil {
		return fmt.Errorf("rule_files: %w", err)
	}
	return s.add(file, text)
}

func (s *Set) add(file string, text []byte) error {
	groups, err := s.parser.parse(file, text)
	if err != nil {
		return err
	}
	s.files = append(s.files, file)
	s.groups[file], s.text[file] = groups, string(text)
	return nil
}

// parse parses and checks the text of a rule file. The errors are FileErrors, joined.
func (p languageParser) parse(file string, text []byte) (*rulefmt.RuleGroups, error) {
	top, err := oneDocument(text)
	if err != nil {
		return nil, fileError(file, err)
	}
	if top, err = withoutAliases(top); err != nil {
		return nil, fileErrors(file, err)
	}
	line := func(n int) int { return n }
	changed, err := p.checks.foreignRules(top)
	if changed && err == nil {
		if text, err = Encode(top); err == nil {
			line = Lines(text, top)
		}
	}
	if err != nil {
		return nil, fileErrors(file, err)
	}
	groups, errs := rulefmt.Parse(text, p.ignoreUnknown, model.UTF8Validation, p, slog.New(slog.DiscardHandler))
	for i, err := range errs {
		e := fileError(file, err)
		e.Line = line(e.Line)
		if of, ok := errors.AsType[*rulefmt.Error](err); ok && e.Line == 0 {
			e.Line = ruleLine(top, of.Group, of.Rule)
		}
		errs[i] = e
	}
	return groups, errors.Join(errs...)
}

// oneDocument refuses a second document, which the module would leave out.
func oneDocument(text []byte) (*yaml.Node, error) {
	var first, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&first); err != nil {
		if errors.Is(err, io.EOF) {
			return &first, nil
		}
		return nil, err
	}
	switch err := decoder.Decode(&second); {
	case errors.Is(err, io.EOF):
		return &first, nil
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("line %d: a second document; one is read", second.Line)
}

// ruleLine returns the line of a rule, which counts from 1, of a group; 0 if it is not found.
func ruleLine(top *yaml.Node, group string, number int) int {
	if len(top.Content) == 0 {
		return 0
	}
	groups := below(top.Content[0], "groups")
	for _, g := range groups.Content {
		if rules := below(g, "rules").Content; below(g, "name").Value == group && number >= 1 && number <= len(rules) {
			return rules[number-1].Line
		}
	}
	return 0
}

// below returns the value of a key of a mapping, an empty node without one.
func below(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return &yaml.Node{}
}

// fileErrors is fileError for errors that were joined.
func fileErrors(file string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return fileError(file, err)
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, fileErrors(file, one))
	}
	return errors.Join(all...)
}

// Encode returns the text of a node. Aliases are what they stand for, and all texts are in quotes: the encoder loses line breaks at
// the beginning of those that it writes as blocks.
func Encode(node *yaml.Node) ([]byte, error) {
	c := copier{left: mostAliased, under: map[*yaml.Node]bool{}}
	quoted, err := c.copy(node, false)
	if err != nil {
		return nil, err
	}
	quoteTexts(quoted)
	return yaml.Marshal(quoted)
}

func quoteTexts(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, part := range n.Content {
		quoteTexts(part)
	}
}

// Lines returns a function from lines of an encoded document to those that its nodes were read from, 0
// for a line that is not known.
func Lines(encoded []byte, written *yaml.Node) func(line int) int {
	lines := map[int]int{}
	var read yaml.Node
	if yaml.Unmarshal(encoded, &read) == nil && len(read.Content) == 1 {
		if written.Kind == yaml.DocumentNode {
			written = written.Content[0]
		}
		matchLines(read.Content[0], written, lines)
	}
	return func(line int) int { return lines[line] }
}

// matchLines notes the lines of nodes by those of equal nodes.
func matchLines(encoded, written *yaml.Node, lines map[int]int) {
	if lines[encoded.Line] == 0 {
		lines[encoded.Line] = written.Line
	}
	for i := range min(len(encoded.Content), len(written.Content)) {
		matchLines(encoded.Content[i], written.Content[i], lines)
	}
}

// fileError finds the line in an error of the module or of YAML.
func fileError(file string, err error) *FileError {
	text := err.Error()
	e := &FileError{File: file, Err: err}
	for _, place := range []string{`^(\d+):\d+: (?:\d+:\d+: )?`, `^yaml: line (\d+): `, `^line (\d+): `, `^yaml: unmarshal errors:\n  line (\d+): `} {
		if m := regexp.MustCompile(place).FindStringSubmatch(text); m != nil {
			e.Line, _ = strconv.Atoi(m[1])
			e.Err = errors.New(text[len(m[0]):])
			return e
		}
	}
	return e
}

// loader gives the manager the groups of the set.
type loader struct{ s *Service }

// Load implements rules.GroupLoader of the module.
func (l loader) Load(file string, _ bool, _ model.ValidationScheme) (*rulefmt.RuleGroups, []error) {
	if groups := l.s.set.Load().groups[file]; groups != nil {
		return groups, nil
	}
	return nil, []error{fmt.Errorf("%s was not loaded", file)}
}

// Parse implements rules.GroupLoader of the module.
func (l loader) Parse(query string) (parser.Expr, error) {
	return l.s.set.Load().parser.ParseExpr(query)
}
