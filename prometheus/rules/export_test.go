package rules

import (
	"context"
	"errors"
	"time"

	promrules "github.com/prometheus/prometheus/rules"
)

// EvaluateOnce evaluates new groups of the set once.
func (s *Service) EvaluateOnce(ctx context.Context, at time.Time) error {
	set := s.set.Load()
	groups, errs := promrules.NewManager(s.managerOptions(ctx)).LoadGroups(set.interval(), set.config.ExternalLabels, s.externalURL(), nil, false, set.files...)
	for _, g := range groups {
		s.iterate(ctx, g, at)
		for _, r := range g.Rules() {
			errs = append(errs, r.LastError())
		}
	}
	return errors.Join(errs...)
}

// Behind reports whether a group makes up what was missed while another one of the same rules evaluates the present.
func (s *Service) Behind() bool {
	s.shifts.mu.Lock()
	defer s.shifts.mu.Unlock()
	for _, t := range s.shifts.turns {
		if t.present.Load() != nil {
			return true
		}
	}
	return false
}

// Annotations returns those of the first rule of a file.
func Annotations(s *Set, file string) map[string]string {
	return s.groups[file].Groups[0].Rules[0].Annotations
}
