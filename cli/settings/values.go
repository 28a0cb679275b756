package settings

import (
	"log/slog"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// tsdConfigFlag names a TSD's configuration file.
const tsdConfigFlag = "opentsdb.config"

// tracingHeaderFlag has the passwords of the collector of traces.
const tracingHeaderFlag = "tracing.header"

// A Source is where flags get values from that the command line does not set.
type Source struct {
	Environment map[string]string
	Reload      bool // the process has read the files before
}

// Values are those that flags get in other ways than on the command line.
type Values struct {
	file       *File
	tsd        []string  // flags of a TSD's configuration file
	others     []Setting // of the configuration file and of the environment; the latter win
	unused     []string  // keys of a TSD's configuration file
	ofTSD      bool      // there is a TSD's configuration file
	misspelled []string  // environment variables that nearly set something
}

// Read reads the environment and the files that it and the command line name. Errors of the
// configuration file are kept in it: more can be found.
func (f *Flags) Read(given *kingpin.ParseContext, from Source) (*Values, error) {
	onLine := map[string]string{}
	flags := GivenFlags(given)
	for _, flag := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		onLine[name] = value
	}
	fromEnvironment, err := f.fromEnvironment(from.Environment)
	if err != nil {
		return nil, err
	}
	s := &Values{misspelled: f.misspelled(from.Environment)}
	s.add(fromEnvironment, onLine)
	path, ok := onLine[ConfigFlag]
	if !ok {
		path = s.value(ConfigFlag)
	}
	s.file = f.readFile(path, from)
	have := map[string]string{}
	for _, other := range s.others {
		have[other.Name] = other.Value
	}
	for name := range onLine {
		have[name] = ""
	}
	s.add(s.file.Settings, have)
	for _, other := range s.others {
		flags = append(flags, other.flag())
	}
	tsd, ok := onLine[tsdConfigFlag]
	if !ok {
		tsd = s.value(tsdConfigFlag)
	}
	if s.ofTSD = tsd != ""; s.ofTSD {
		s.tsd, s.unused, err = fromTSD(tsd, flags)
	}
	return s, err
}

// add adds settings of flags that are not set yet.
func (s *Values) add(more []Setting, have map[string]string) {
	for _, one := range more {
		if _, ok := have[one.Name]; !ok {
			s.others = append(s.others, one)
		}
	}
}

// value returns the value of a flag, empty if it is not set.
func (s *Values) value(name string) string {
	i := slices.IndexFunc(s.others, func(one Setting) bool { return one.Name == name })
	if i < 0 {
		return ""
	}
	return s.others[i].Value
}

// Args returns the values as a command line.
func (s *Values) Args() []string {
	all := slices.Clone(s.tsd)
	for _, one := range s.others {
		all = append(all, one.flag())
	}
	return all
}

// InFile adds errors about values to those of the configuration file, with the lines that set the values.
func (s *Values) InFile(err error) error { return s.file.inFile(err) }

// secrets returns the flags whose value is not shown: those with the content of a file, and those that
// are secrets wherever they are set.
func (s *Values) secrets() map[string]bool {
	names := map[string]bool{tracingHeaderFlag: true}
	for _, one := range s.others {
		if one.secret {
			names[one.Name] = true
		}
	}
	return names
}

// log logs what was passed over, and in what the adapter differs from a TSD.
func (s *Values) log(logger *slog.Logger, allowEdits bool) {
	if s.ofTSD && !allowEdits {
		logger.Info("a TSD lets all clients assign and rename UIDs, change metadata and trees and delete annotations; here --opentsdb.allow-edits does")
	}
	if len(s.unused) > 0 {
		logger.Info("keys of --opentsdb.config that mean nothing here", "keys", strings.Join(s.unused, " "))
	}
	if len(s.misspelled) > 0 {
		logger.Warn("environment variables that set no flag; correct or unset them", "variables", strings.Join(s.misspelled, ", "))
	}
}
