package put

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// noName refuses a name without a UID, in a TSD's words.
type noName struct{ kind, name string }

func (e noName) Error() string { return fmt.Sprintf("No such name for '%s': '%s'", e.kind, e.name) }

// Unwrap makes it a refusal for good.
func (e noName) Unwrap() error { return storage.ErrInvalid }

// AutoCreate says which new names get UIDs.
type AutoCreate struct{ Metrics, TagKeys, TagValues bool }

// off returns the kinds whose names must be known.
func (a AutoCreate) off() (kinds []storage.NameKind) {
	for kind, create := range map[storage.NameKind]bool{storage.MetricName: a.Metrics, storage.TagKeyName: a.TagKeys, storage.TagValueName: a.TagValues} {
		if !create {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds) // a TSD looks the metric up first
	return kinds
}

// A Dictionary looks names up, in order; those without a UID are empty.
type Dictionary interface {
	Lookup(ctx context.Context, kind storage.NameKind, names []string) ([]string, error)
}

// Limit returns an Appender that gives new names of the other kinds no UIDs.
func (a AutoCreate) Limit(to storage.Appender, names Dictionary) storage.Appender {
	if off := a.off(); len(off) > 0 {
		return knownOnly{to, names, off}
	}
	return to
}

// knownOnly is an Appender that gives new names of some kinds no UIDs, as a TSD whose
// tsd.core.auto_create_metrics, auto_create_tagks or auto_create_tagvs are off.
type knownOnly struct {
	storage.Appender
	names Dictionary
	kinds []storage.NameKind // whose names must be known
}

// Resolve implements storage.Appender.
func (k knownOnly) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
	errs := make([]error, len(series))
	for _, kind := range k.kinds {
		if err := k.refuse(ctx, kind, series, errs); err != nil {
			for i := range errs {
				errs[i] = err
			}
			return make([]storage.Ref, len(series)), errs
		}
	}
	refs := make([]storage.Ref, len(series))
	var known []storage.Series
	var at []int
	for i := range series {
		if errs[i] == nil {
			known, at = append(known, series[i]), append(at, i)
		}
	}
	failed := len(known) < len(series)
	if len(known) > 0 {
		got, gotErrs := k.Appender.Resolve(ctx, known)
		for j, i := range at {
			refs[i] = got[j]
			if gotErrs != nil && gotErrs[j] != nil {
				errs[i], failed = gotErrs[j], true
			}
		}
	}
	if !failed {
		errs = nil
	}
	return refs, errs
}

// refuse sets the errors of series that have names without UIDs.
func (k knownOnly) refuse(ctx context.Context, kind storage.NameKind, series []storage.Series, errs []error) error {
	at := map[string]int{}
	var names []string
	each := func(s *storage.Series, see func(name string) bool) {
		switch kind {
		case storage.MetricName:
			see(s.Metric)
		default:
			for _, tag := range s.Tags {
				name := tag.Key
				if kind == storage.TagValueName {
					name = tag.Value
				}
				if !see(name) {
					return
				}
			}
		}
	}
	for i := range series {
		each(&series[i], func(name string) bool {
			if _, have := at[name]; !have {
				at[name] = len(names)
				names = append(names, name)
			}
			return true
		})
	}
	uids, err := k.names.Lookup(ctx, kind, names)
	if err != nil {
		return err
	}
	for i := range series {
		if errs[i] != nil {
			continue
		}
		each(&series[i], func(name string) bool {
			if uids[at[name]] == "" {
				errs[i] = noName{kind.Plural(), name}
			}
			return errs[i] == nil
		})
	}
	return nil
}
