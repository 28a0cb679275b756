package cli

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

// settings are the flags that are set in other ways than on the command line.
type settings struct {
	file       *configFile
	tsd        []string  // flags of a TSD's configuration file
	others     []setting // of the configuration file and of the environment; the latter win
	unused     []string  // keys of a TSD's configuration file
	ofTSD      bool      // there is a TSD's configuration file
	misspelled []string  // environment variables that nearly set something
}

// readSettings reads the environment and the files that it and the command line name. Errors of the
// configuration file are kept in it: more can be found.
func (p *parser) readSettings(given *kingpin.ParseContext, environment map[string]string) (*settings, error) {
	onLine := map[string]string{}
	flags := givenFlags(given)
	for _, flag := range flags {
		name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		onLine[name] = value
	}
	fromEnvironment, err := p.fromEnvironment(environment)
	if err != nil {
		return nil, err
	}
	s := &settings{misspelled: p.misspelled(environment)}
	s.add(fromEnvironment, onLine)
	path, ok := onLine[configFlag]
	if !ok {
		path = s.value(configFlag)
	}
	s.file = p.readConfig(path, environment)
	have := map[string]string{}
	for _, other := range s.others {
		have[other.name] = other.value
	}
	for name := range onLine {
		have[name] = ""
	}
	s.add(s.file.settings, have)
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
func (s *settings) add(more []setting, have map[string]string) {
	for _, one := range more {
		if _, ok := have[one.name]; !ok {
			s.others = append(s.others, one)
		}
	}
}

// value returns the value of a flag, empty if it is not set.
func (s *settings) value(name string) string {
	i := slices.IndexFunc(s.others, func(one setting) bool { return one.name == name })
	if i < 0 {
		return ""
	}
	return s.others[i].value
}

// flags returns the settings as a command line.
func (s *settings) flags() []string {
	all := slices.Clone(s.tsd)
	for _, one := range s.others {
		all = append(all, one.flag())
	}
	return all
}

// secrets returns the flags whose value is not shown: those with the content of a file, and those that
// are secrets wherever they are set.
func (s *settings) secrets() map[string]bool {
	names := map[string]bool{tracingHeaderFlag: true}
	for _, one := range s.others {
		if one.secret {
			names[one.name] = true
		}
	}
	return names
}

// tell logs what was passed over, and what whoever had a TSD will miss.
func (s *settings) tell(logger *slog.Logger, allowEdits bool) {
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
