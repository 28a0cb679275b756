package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
)

// TestKillEvents crashes the adapter while events are posted: every acknowledged event is there
// afterwards, under its name, and no id was given twice.
func TestKillEvents(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	acknowledged := map[string]bool{}
	for round := range scale.Of(t, "kills while events are posted", 4, 4, 40) {
		for _, what := range postUntilKilled(t, a.URL(""), fmt.Sprint("round ", round), func() { a.Kill() }) {
			acknowledged[what] = true
		}
		a.Restart(t)
	}
	answer := a.Get(t, "/events/get_data?from=-1d").ok(t)
	var events []struct {
		ID   int64
		What string
	}
	if err := json.Unmarshal(answer.body, &events); err != nil {
		t.Fatal(err)
	}
	ids := map[int64]bool{}
	for _, e := range events {
		if ids[e.ID] {
			t.Errorf("id %d was given twice", e.ID)
		}
		ids[e.ID] = true
		delete(acknowledged, e.What)
	}
	if len(acknowledged) > 0 {
		t.Errorf("of %d events %d are lost that were acknowledged: %v", len(events), len(acknowledged), acknowledged)
	}
	t.Logf("%d events", len(events))
}

// postUntilKilled posts events from several goroutines, kills the adapter after some of them, and
// returns which were acknowledged.
func postUntilKilled(t *testing.T, base, name string, kill func()) (acknowledged []string) {
	t.Helper()
	var mu sync.Mutex // guards acknowledged
	var senders sync.WaitGroup
	enough, once := make(chan struct{}), sync.Once{}
	for n := range 3 {
		senders.Go(func() {
			for i := 0; ; i++ {
				what := fmt.Sprint(name, ", sender ", n, ", event ", i)
				body := strings.NewReader(fmt.Sprintf(`{"what": %q, "tags": "kill"}`, what))
				request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/events/", body)
				if err != nil {
					t.Error(err)
					return
				}
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					return // it was killed
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
				if response.StatusCode != http.StatusOK {
					t.Errorf("POST /events/ answers %d", response.StatusCode)
					once.Do(func() { close(enough) })
					return
				}
				mu.Lock()
				if acknowledged = append(acknowledged, what); len(acknowledged) == 60 {
					once.Do(func() { close(enough) })
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	kill()
	senders.Wait()
	return acknowledged
}
