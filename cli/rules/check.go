package rules

import (
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
)

// Check checks rule files. It prints how many rules each has.
func Check(o adapter.Options, files []string, c command.Console) error {
	var errs []error
	for _, file := range files {
		set, err := o.LoadRules(rules.Config{Files: []string{file}})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if _, err := fmt.Fprintf(c.Out, "%s: %d rules\n", file, set.Rules()); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}
