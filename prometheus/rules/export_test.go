package rules

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
