package pipeline

import (
	"fmt"
	"strings"
	"time"
)

// Progress is how far an import is.
type Progress struct {
	Files, Done int
	Points      int64 // durable, of this run
	Before      int64 // durable, of earlier runs with this state
	Bad         int64 // lines that were skipped
	Skipped     int64 // files that were skipped
	Read, Size  int64 // bytes of the files; Size is 0 if it is not known
	Took        time.Duration
}

// Rate returns points for each second.
func (p Progress) Rate() float64 { return float64(p.Points) / max(p.Took.Seconds(), 0.001) }

// Left returns about how long the rest takes; 0: unknown.
func (p Progress) Left() time.Duration {
	if p.Size == 0 || p.Read == 0 || p.Read > p.Size {
		return 0
	}
	return time.Duration(float64(p.Took) * float64(p.Size-p.Read) / float64(p.Read)).Round(time.Second)
}

// String prints one line.
func (p Progress) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d points, %.0f/s, %d of %d files", p.Points, p.Rate(), p.Done, p.Files)
	if p.Size > 0 {
		fmt.Fprintf(&b, ", %.1f %%", 100*float64(min(p.Read, p.Size))/float64(p.Size))
	}
	if left := p.Left(); left > 0 {
		fmt.Fprintf(&b, ", %v left", left)
	}
	if p.Bad > 0 {
		fmt.Fprintf(&b, ", %d bad lines", p.Bad)
	}
	if p.Skipped > 0 {
		fmt.Fprintf(&b, ", %d files skipped", p.Skipped)
	}
	return b.String()
}
