package netserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// TestDeadlineOfBody: a handler that takes longer than the body may take to come is not cancelled by
// that, and a body that does not come still ends.
func TestDeadlineOfBody(t *testing.T) {
	const limit = 200 * time.Millisecond
	var ended, read error
	s := httptest.NewUnstartedServer(netserver.DeadlineOfBody(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, read = io.Copy(io.Discard, r.Body); read != nil {
			return
		}
		select {
		case <-r.Context().Done():
		case <-time.After(3 * limit):
		}
		ended = r.Context().Err()
	})))
	s.Config.ReadTimeout = limit
	s.Start()
	defer s.Close()
	for name, body := range map[string]io.Reader{"a body": strings.NewReader("some text"), "no body": nil, "pieces": io.MultiReader(strings.NewReader("some text"))} {
		res, err := http.Post(s.URL, "text/plain", body)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if ended != nil || read != nil {
			t.Errorf("%s: the handler was ended: %v, read: %v", name, ended, read)
		}
	}
	slow, feed := io.Pipe()
	defer feed.Close()
	if res, err := http.Post(s.URL, "text/plain", slow); err == nil {
		res.Body.Close()
	}
	if read == nil {
		t.Error("a body that does not come was read to its end")
	}
}
