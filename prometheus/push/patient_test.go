package push

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// deadlines records the deadlines of reads.
type deadlines struct {
	*httptest.ResponseRecorder

	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestPatientLeavesNoDeadline: each piece of a body has its time, and what is stored after it has no
// deadline of the body, which net/http takes for the client's leaving.
func TestPatientLeavesNoDeadline(t *testing.T) {
	d := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	p := &patient{r: strings.NewReader("a text"), control: http.NewResponseController(d)}
	piece := make([]byte, 3)
	for n := 1; ; n++ {
		_, err := p.Read(piece)
		if len(d.set) != 2*n || !d.set[2*n-2].After(time.Now()) || !d.set[2*n-1].IsZero() {
			t.Fatalf("deadlines after read %d: %v, want one of the read and then none", n, d.set)
		}
		if err != nil {
			return
		}
	}
}
