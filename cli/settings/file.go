package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/alecthomas/kingpin/v2"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// Keys of the file that are no flags.
const (
	treesKey     = "trees"     // the trees to declare
	retentionKey = "retention" // how long points of which series are kept
	rollupsKey   = "rollups"   // which rollup tables are filled from points
)

// ConfigFlag names the configuration file.
const ConfigFlag = "config.file"

// A Setting is a flag with the value that something other than the command line gives it.
type Setting struct {
	Name, Value string
	where       string // "line 3" of the file, or an environment variable
	secret      bool   // the value has the content of a file
}

func (s Setting) flag() string { return "--" + s.Name + "=" + s.Value }

// A File is the content of the configuration file.
type File struct {
	path     string // empty: there is none
	dir      string // that paths in it are relative to
	Settings []Setting
	lists    config.Lists
	shown    map[string]*yaml.Node // the lists as they are shown
	err      error                 // what is wrong with it
}

// at adds the path to errors, which may be several.
func (c *File) at(err error) error {
	var errs []error
	for _, one := range EachError(err) {
		errs = append(errs, fmt.Errorf("--%s=%s: %w", ConfigFlag, c.path, one))
	}
	return errors.Join(errs...)
}

// EachError returns the errors that were joined.
func EachError(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, EachError(one)...)
	}
	return all
}

// readFile reads a configuration file. A pipe is read when the process starts, not at a reload.
func (f *Flags) readFile(path string, from Source) *File {
	c := &File{path: path, dir: filepath.Dir(path)}
	if path == "" {
		return c
	}
	text, isPipe, err := read(path, from.Reload)
	if isPipe {
		c.dir = "."
	}
	if err != nil {
		c.err = fmt.Errorf("--%s: %w", ConfigFlag, err)
		return c
	}
	c.err = c.at(f.parse(c, text, from.Environment))
	return c
}

// read returns the content of a regular file, or of a pipe, such as that of --config.file=<(sops -d FILE).
func read(path string, reload bool) (text []byte, isPipe bool, err error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		text, err = fsutil.ReadRegular(path)
		return text, false, err
	}
	if reload {
		return nil, true, fmt.Errorf("%s is a pipe, which was read when the process started and cannot be read again; restart to load another configuration, or give a regular file", path)
	}
	text, err = fsutil.ReadPipe(path)
	return text, true, err
}

// ParseFile returns the settings of a configuration file with a text, and what is wrong with it.
func (f *Flags) ParseFile(text []byte) ([]Setting, error) {
	c := &File{dir: "."}
	err := f.parse(c, text, nil)
	return c.Settings, err
}

// parse converts YAML into settings. Keys are names of flags; "a.b: x" and "a: {b: x}" are equal.
func (f *Flags) parse(c *File, text []byte, environment map[string]string) error {
	var root, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) {
		return nil // an empty file
	} else if err != nil {
		return err
	}
	if err := decoder.Decode(&second); err == nil {
		return fmt.Errorf("line %d: a second document; one is read", second.Line)
	} else if !errors.Is(err, io.EOF) {
		return err
	}
	c.shown = map[string]*yaml.Node{}
	e := &expander{environment: environment, secrets: map[*yaml.Node]bool{}}
	e.nodes(&root, false)
	r := configReader{Flags: f, File: c, secrets: e.secrets, lines: map[string]int{}, errs: e.errs}
	if top := root.Content[0]; top.Kind == yaml.MappingNode {
		r.flatten("", top)
	} else if top.Tag != "!!null" {
		r.fail(top, "want keys and values")
	}
	prom, err := config.ParsePrometheus(r.prom, c.dir)
	r.lists.Prom, r.errs = prom, append(r.errs, err)
	return errors.Join(r.errs...)
}

// A configReader collects settings and errors of a file.
type configReader struct {
	*Flags
	*File

	secrets map[*yaml.Node]bool
	lines   map[string]int // of the keys that were met
	prom    []*yaml.Node   // keys and values of a Prometheus' configuration
	errs    []error
}

func (r *configReader) fail(node *yaml.Node, format string, args ...any) {
	r.errs = append(r.errs, fmt.Errorf("line %d: %w", node.Line, fmt.Errorf(format, args...)))
}

func (r *configReader) flatten(name string, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			key, value := node.Content[i], node.Content[i+1]
			switch {
			case name != "":
				r.flatten(name+"."+key.Value, value)
			case !r.list(key, value):
				r.flatten(key.Value, value)
			}
		}
	case yaml.SequenceNode:
		if r.unknown(name, node) {
			return
		}
		for _, item := range node.Content {
			if item.Kind != yaml.ScalarNode {
				r.fail(item, "%s: want a list of plain values", name)
				return
			}
			r.flatten(name, item)
		}
	case yaml.ScalarNode:
		r.scalar(name, node)
	default:
		r.fail(node, "%s: want a plain value", name)
	}
}

// list reads a list that is no flag, and reports whether the key is of one.
func (r *configReader) list(key, value *yaml.Node) bool {
	var err error
	switch key.Value {
	case treesKey:
		r.lists.Trees, err = config.ParseTrees(value)
	case retentionKey:
		r.lists.Retention, err = config.ParseRetention(value)
	case rollupsKey:
		r.lists.Fill, err = config.ParseFill(value)
	default:
		if !config.IsPrometheusKey(key.Value) {
			return false
		}
		if r.lines[key.Value] == 0 {
			r.prom = append(r.prom, key, value)
		}
	}
	if r.lines[key.Value] > 0 {
		r.fail(key, "%s is set twice", key.Value)
	}
	if !config.IsPrometheusKey(key.Value) {
		r.shown[key.Value] = r.withoutSecrets(value)
	}
	r.lines[key.Value] = key.Line
	r.errs = append(r.errs, err)
	return true
}

// withoutSecrets copies a node, without the contents of files.
func (r *configReader) withoutSecrets(node *yaml.Node) *yaml.Node {
	c := *node
	if r.secrets[node] {
		c.Value, c.Style = adapter.Hidden, 0
	}
	c.Content = nil
	for _, below := range node.Content {
		c.Content = append(c.Content, r.withoutSecrets(below))
	}
	return &c
}

// unknown reports whether there is no flag of a name, and adds the error then.
func (r *configReader) unknown(name string, node *yaml.Node) bool {
	if flag := r.app.GetFlag(name); flag != nil && IsSetting(flag.Model()) || RetiredError("", name) != nil {
		return false
	}
	err := fmt.Errorf("there is no option %q", name)
	if name == "groups" && node.Kind == yaml.SequenceNode {
		r.fail(node, "%w: this is a file of rules; tsdbridge check rules checks it, and rule_files names it", err)
		return true
	}
	names := append(r.names(), treesKey, retentionKey, rollupsKey)
	names = append(names, config.PrometheusKeys()...)
	r.fail(node, "%w", DidYouMean(err, "", name, names))
	return true
}

// scalar reads the value of a flag.
func (r *configReader) scalar(name string, node *yaml.Node) {
	if err := RetiredError("", name); err != nil {
		r.fail(node, "%w", err)
		return
	}
	if r.unknown(name, node) {
		return
	}
	s := Setting{Name: name, Value: node.Value, where: "line " + strconv.Itoa(node.Line), secret: r.secrets[node]}
	again := slices.ContainsFunc(r.Settings, func(before Setting) bool { return before.Name == name })
	if again && !Cumulative(r.app.GetFlag(name)) {
		r.fail(node, "option %q is set twice", name)
		return
	}
	if err := r.try(s); err != nil {
		r.fail(node, "%w", err)
		return
	}
	r.Settings = append(r.Settings, s)
}

// IsSetting reports whether a flag is a key of the configuration file.
func IsSetting(f *kingpin.FlagModel) bool {
	return !f.Hidden && f.Name != ConfigFlag && f.Name != "help" && f.Name != "version"
}

// Cumulative reports whether a flag may be given several times.
func Cumulative(flag *kingpin.FlagClause) bool {
	list, ok := flag.Model().Value.(interface{ IsCumulative() bool })
	return ok && list.IsCumulative()
}

// try returns why a flag does not take a value.
func (f *Flags) try(s Setting) error {
	flag := f.app.GetFlag(s.Name)
	if flag.Model().IsBoolFlag() {
		_, err := PlainBools(f.app, []string{s.flag()})
		return err
	}
	err := flag.Model().Value.Set(s.Value)
	switch {
	case err == nil:
		return nil
	case s.secret: // the error may have the value
		return fmt.Errorf("--%s: the content of the file is no value of it", s.Name)
	}
	return fmt.Errorf("%s: %w", s.flag(), err)
}

// inFile adds errors about values to those of the file, with the lines that set the values. If the file
// has errors, others may follow from them: only those with a line are added.
func (c *File) inFile(err error) error {
	all := []error{c.err}
	for _, one := range EachError(err) {
		switch line := c.lineOf(one); {
		case line != "":
			all = append(all, c.at(fmt.Errorf("%s: %w", line, one)))
		case c.err == nil:
			all = append(all, one)
		}
	}
	return errors.Join(all...)
}

// lineOf returns the line that sets the flag which an error names, empty without one.
func (c *File) lineOf(err error) string {
	for _, m := range regexp.MustCompile(`--([a-z0-9.-]+[a-z0-9])`).FindAllStringSubmatch(err.Error(), -1) {
		i := slices.IndexFunc(c.Settings, func(s Setting) bool { return s.Name == m[1] })
		if i >= 0 {
			return c.Settings[i].where
		}
	}
	return ""
}
