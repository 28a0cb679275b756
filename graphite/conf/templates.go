package conf

// ParseGraphTemplates reads a graphTemplates.conf of graphite-web: the keys, in lower case, and values
// of its sections.
func ParseGraphTemplates(file, text string) (map[string]map[string]string, error) {
	sections, err := parseINI(file, text)
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]string{}
	for _, s := range sections {
		values := make(map[string]string, len(s.options))
		for key, o := range s.options {
			values[key] = o.value
		}
		all[s.name] = values
	}
	return all, nil
}
