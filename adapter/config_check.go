package adapter

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/tsdbridge/tsdbridge/adapter/webconfig"
)

// CheckFiles reads the files that the options name, as a start does, and returns what is wrong with
// them. It opens no table and no port.
func (o Options) CheckFiles() error {
	o.Graphite.Carbon = o.Carbon
	o.Graphite.Logger = o.Logger
	errs := []error{o.Graphite.CheckFiles(), o.OpenTSDB.CheckFiles()}
	if o.WebConfigFile != "" {
		if err := CheckWebConfig(o.WebConfigFile); err != nil {
			errs = append(errs, fmt.Errorf("--web.config.file: %w", err))
		}
	}
	_, err := o.ruleSet()
	return errors.Join(append(errs, err)...)
}

// CheckWebConfig reads a file with TLS and passwords, and the certificates that it names.
func CheckWebConfig(path string) error {
	_, err := webconfig.Open(path, slog.New(slog.DiscardHandler))
	return err
}
