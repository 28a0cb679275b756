package pipeline

import "context"

// A Store makes the points of a block of whole lines durable, and returns when they are. If skip is
// false, it ends before the first bad line. It may overwrite the block. After an error for which
// Again holds, the same block may be stored again.
type Store func(ctx context.Context, block []byte, skip bool) (Stored, error)

// Stored tells what became of a block.
type Stored struct {
	Points int `json:"points"` // that are durable
	Lines  int `json:"lines"`  // that were read
	Bytes  int `json:"bytes"`  // of these lines; less than the block has if a bad line ended it
	Bad    int `json:"bad"`    // lines that are no points, or whose points were refused
	// Shown are the first bad lines.
	Shown []BadLine `json:"shown,omitempty"`
}

// MaxShown is how many bad lines of a block are shown.
const MaxShown = 100

// A BadLine is a line that is no point, or whose point was refused.
type BadLine struct {
	Line   int    `json:"line"` // from 1
	Text   string `json:"text"` // its beginning
	Reason string `json:"reason"`
}

// Refuse counts a bad line.
func (s *Stored) Refuse(line int, text []byte, reason string) {
	s.Bad++
	if len(s.Shown) < MaxShown {
		s.Shown = append(s.Shown, BadLine{Line: line, Text: string(text[:min(len(text), shownBytes)]), Reason: reason})
	}
}

// shownBytes is how much of a bad line is shown.
const shownBytes = 200

// Add adds what became of the lines that follow.
func (s *Stored) Add(next Stored) {
	for _, bad := range next.Shown[:min(len(next.Shown), MaxShown-len(s.Shown))] {
		bad.Line += s.Lines
		s.Shown = append(s.Shown, bad)
	}
	s.Points += next.Points
	s.Lines += next.Lines
	s.Bytes += next.Bytes
	s.Bad += next.Bad
}
