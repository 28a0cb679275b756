package opentsdb

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/budget"
)

// TestPatternsTakeMemory: a regular expression that compiles to very much is refused, and what one takes
// is part of what its query may have.
func TestPatternsTakeMemory(t *testing.T) {
	const limit = 8 << 20
	shared := budget.New(limit)
	server := "http://" + serveWith(t, func(o *Options) { o.Budget = shared })
	if status, text := ask(t, http.MethodPost, server+"/api/put", `{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}}`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	query := func(pattern string) (int, string) {
		quoted, err := json.Marshal(pattern)
		if err != nil {
			t.Fatal(err)
		}
		return ask(t, http.MethodPost, server+"/api/query", fmt.Sprintf(
			`{"start":1356998000,"end":1357000000,"queries":[{"metric":"m","aggregator":"sum","filters":[{"type":"regexp","tagk":"host","filter":%s}]}]}`, quoted))
	}
	if status, text := query(strings.Repeat("(a{1,1000}|b)", 100)); status != http.StatusBadRequest || !strings.Contains(text, "the pattern is too large") {
		t.Errorf("a pattern of 200 000 instructions: %d %.300s", status, text)
	}
	if status, text := query(strings.Repeat("(a{1,1000}|b)", 25)); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, budget.Flag) {
		t.Errorf("a pattern that takes more than the budget: %d %.300s", status, text)
	}
	other := shared.Open()
	if err := other.Take(limit / 2); err != nil {
		t.Fatal(err)
	}
	pattern := "a|" + strings.Repeat("(a{1,1000}|b)", 8)
	if status, text := query(pattern); status != http.StatusServiceUnavailable {
		t.Errorf("while others hold the memory: %d %.300s", status, text)
	}
	other.Close()
	if status, text := query(pattern); status != http.StatusOK || !strings.Contains(text, "1356998400") {
		t.Errorf("afterwards: %d %.300s", status, text)
	}
}
