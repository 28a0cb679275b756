package config

import (
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// checkClientFiles reports which files of clients (passwords, certificates) cannot be read in finite time. The Prometheus
// module reads them when it sends. A file that is not there may come later, as in Prometheus.
func (c *Prometheus) checkClientFiles() error {
	var errs []error
	for _, part := range []struct {
		key   string
		value any
	}{{"alerting", c.AlertingConfig}, {"remote_write", c.RemoteWriteConfigs}} {
		eachFile(reflect.ValueOf(part.value), func(name string) {
			if err := fsutil.CheckRegular(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, fmt.Errorf("%s: %w", part.key, err))
			}
		})
	}
	return errors.Join(errs...)
}

// eachFile calls do for the fields of a configuration that are names of files.
func eachFile(v reflect.Value, do func(name string)) {
	switch v.Kind() { //nolint:exhaustive // others hold no fields
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			eachFile(v.Elem(), do)
		}
	case reflect.Slice:
		for i := range v.Len() {
			eachFile(v.Index(i), do)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			eachFile(v.MapIndex(key), do)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i)
			switch {
			case !name.IsExported():
			case field.Kind() == reflect.String && strings.HasSuffix(name.Name, "File"):
				do(field.String())
			case strings.HasSuffix(name.Name, "Files") && field.Type() == reflect.TypeFor[[]string]():
				for _, one := range field.Interface().([]string) { //nolint:forcetypeassert // see the case
					do(one)
				}
			default:
				eachFile(field, do)
			}
		}
	}
}
