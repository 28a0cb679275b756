// Package conf reads carbon's configuration: storage-schemas.conf and storage-aggregation.conf, in
// the dialect of Python's configparser. It answers which rule holds for a name. It never watches
// files and knows nothing of points in a store.
package conf

// Schemas are the rules of carbon's storage-schemas.conf: which archives a name has. They are safe
// for concurrent use. A nil *Schemas has no rules.
type Schemas struct{ rules *rules[[]Archive] }

// ParseSchemas reads a storage-schemas.conf as carbon does. file is its name, for errors. What
// makes carbon stop is an error. Retentions that whisper refuses are an error too, although carbon
// would go on without the section.
func ParseSchemas(file, text string) (*Schemas, error) {
	r, err := parseRules(file, text, func(s section) ([]Archive, string, error) {
		if err := s.skipWithout("pattern", "retentions"); err != nil {
			return nil, "", err
		}
		archives, err := ParseRetentions(s.options["retentions"].value)
		return archives, "retentions", err
	})
	if err != nil {
		return nil, err
	}
	return &Schemas{r}, nil
}

// Skipped returns an error for each section that is not a rule because a key is missing. Each error
// names the place.
func (s *Schemas) Skipped() []error {
	if s == nil {
		return nil
	}
	return s.rules.skipped
}

// Archives returns the archives of a name, the finest first. ok is false when no rule matches the
// name.
func (s *Schemas) Archives(name string) (archives []Archive, ok bool) {
	if s == nil {
		return nil, false
	}
	return s.rules.of(name)
}
