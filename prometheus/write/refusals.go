package write

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

const (
	// maxCulprits is how many refused series or metrics are named.
	maxCulprits = 5
	// maxAnswer bounds the text of an answer in bytes: Prometheus logs the first 1024.
	maxAnswer = 1000
)

// refusals are the parts of a request that cannot be stored.
type refusals struct {
	series   int // refused as a whole
	data     kindCounts
	culprits []culprit
	more     int // culprits not named
}

// A culprit is what was refused, and why.
type culprit struct{ who, why string }

// name records what was refused and why. The name is made only when it is needed.
func (r *refusals) name(who func() string, err error) {
	if len(r.culprits) == maxCulprits {
		r.more++
		return
	}
	r.culprits = append(r.culprits, culprit{who(), err.Error()})
}

func (r *refusals) any() bool { return len(r.culprits) > 0 }

// text returns what was refused, of how much, and names the first few.
func (r *refusals) text(received kindCounts) string {
	var b strings.Builder
	b.WriteString("refused")
	sep := " "
	if r.series > 0 {
		fmt.Fprintf(&b, "%s%d series", sep, r.series)
		sep = ", "
	}
	for k, n := range r.data {
		if n > 0 {
			fmt.Fprintf(&b, "%s%d of %d %s", sep, n, received[k], plural(dataKind(k)))
			sep = ", "
		}
	}
	if r.data.total() < received.total() {
		b.WriteString("; the rest is stored")
	}
	b.WriteString(": ")
	for i, c := range r.culprits {
		if i > 0 {
			b.WriteString("; ")
		}
		b.WriteString(c.who + ": " + c.why)
	}
	tail := ""
	if r.more > 0 {
		tail = fmt.Sprintf("; and %d more", r.more)
	}
	return httpapi.Cut(b.String(), maxAnswer-len(tail)) + tail
}

func plural(k dataKind) string {
	if k == kindMetadata {
		return "metadata"
	}
	return k.String() + "s"
}
