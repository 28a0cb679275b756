package graphite

// Schemas are the rules of carbon's storage-schemas.conf: which archives a name has. Safe for concurrent use; nil has no rules.
type Schemas struct{ rules *rules[[]archive] }

// ParseSchemas reads a storage-schemas.conf as carbon does; file is its name, for errors. What makes carbon stop is an error, and so are retentions
// that whisper refuses, for which carbon would go on without the section.
func ParseSchemas(file, text string) (*Schemas, error) {
	r, err := parseRules(file, text, func(s confSection) ([]archive, string, error) {
		if err := s.skipWithout("pattern", "retentions"); err != nil {
			return nil, "", err
		}
		archives, err := parseRetentions(s.options["retentions"].value)
		return archives, "retentions", err
	})
	if err != nil {
		return nil, err
	}
	return &Schemas{r}, nil
}

// Skipped are the sections that are no rules, since they lack what one needs, each with its place.
func (s *Schemas) Skipped() []error {
	if s == nil {
		return nil
	}
	return s.rules.skipped
}

// archives returns the archives of a name, the finest first; false when no rule is about it.
func (s *Schemas) archives(name string) ([]archive, bool) {
	if s == nil {
		return nil, false
	}
	return s.rules.of(name)
}
