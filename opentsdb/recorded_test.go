package opentsdb

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/budget"
	"github.com/tsdbridge/tsdbridge/internal/running"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// An exchange is a request to a real TSD 2.4.1 and its reply. testdata/README.md tells how they
// were recorded.
type exchange struct {
	ID          string            `json:"id"`
	Phase       string            `json:"phase"`
	Kind        string            `json:"kind"`
	Method      string            `json:"method"`
	Path        string            `json:"path"`
	Body        json.RawMessage   `json:"body"`
	Headers     map[string]string `json:"headers,omitempty"`
	Compare     string            `json:"cmp"`
	Status      int               `json:"status"`
	ContentType string            `json:"ctype"`
	Reply       any               `json:"reply"`
}

// TestRecorded replays what was recorded, in its order. testdata/differences lists the requests that
// are answered otherwise, each with its reason; one that is answered as by a TSD must leave the list.
func TestRecorded(t *testing.T) {
	replay(t, startRecorded(t), "tsd", "differences")
}

// replay replays a file of what was recorded: all of it, or some phases. The file of differences belongs to it.
func replay(t *testing.T, address, recorded, differences string, only ...string) {
	t.Helper()
	reasons := readDifferences(t, differences)
	phases := map[string]int{}
	for _, e := range readExchanges(t, recorded) {
		if len(only) > 0 && !slices.Contains(only, e.Phase) {
			continue
		}
		difference := e.differs(e.send(t, address))
		reason, listed := reasons[e.ID]
		switch {
		case difference != "" && !listed:
			t.Errorf("%s %s %s: %s", e.ID, e.Method, e.Path, difference)
		case difference == "" && listed:
			t.Errorf("%s %s %s is answered as by a TSD, but listed as different: %s", e.ID, e.Method, e.Path, reason)
		case difference == "":
			phases[e.Phase]++
		}
		delete(reasons, e.ID)
	}
	for id := range reasons {
		t.Errorf("testdata/%s lists %s, which was not recorded", differences, id)
	}
	t.Logf("answered as by a TSD: %v", phases)
}

// startRecorded starts a server over an empty store and returns its address.
func startRecorded(t *testing.T) string { return startOver(t, kv.NewMem(storetest.Tables()...)) }

// startOver starts a server over a store of some tables.
func startOver(t *testing.T, db kv.KV, change ...func(*Options)) string {
	store, trees := openTrees(t, db)
	o := serverOptions("127.0.0.1:0")
	o.Trees, o.Documents = trees, store.Documents()
	o.Points, o.Store, o.Catalog, o.Names, o.Layout = store, store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.AllowEdits, o.AllowDelete, o.Deleter = true, true, store // as the TSD
	o.Annotations, o.Metadata, o.Histograms = store.Annotations(), store.Documents(), store
	o.Budget, o.Running, o.Concurrency, o.Timeout = budget.New(1<<30), running.New(), 4, time.Minute
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}

func readExchanges(t testing.TB, name string) (all []exchange) {
	file, err := os.Open("testdata/" + name + ".jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(text)
	for {
		var e exchange
		if err := decoder.Decode(&e); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
}

// readDifferences returns reasons by ids.
func readDifferences(t *testing.T, name string) map[string]string {
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if id, reason, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(id, "#") {
			reasons[id] = reason
		}
	}
	return reasons
}

// text returns a body that is text, and not a value in JSON.
func (e *exchange) text() (text string, ok bool) {
	ok = len(e.Body) > 0 && e.Body[0] == '"' && json.Unmarshal(e.Body, &text) == nil
	return text, ok
}

// received is a reply, parsed if it is JSON.
type received struct {
	status      int
	contentType string
	reply       any
}

func (e *exchange) send(t *testing.T, address string) received {
	if e.Kind == "telnet" {
		return received{contentType: "telnet", reply: e.sendTelnet(t, address)}
	}
	var body io.Reader
	if text, ok := e.text(); ok {
		body = strings.NewReader(text)
	} else if len(e.Body) > 0 && string(e.Body) != "null" {
		body = bytes.NewReader(e.Body)
	}
	request, err := http.NewRequestWithContext(t.Context(), e.Method, "http://"+address+e.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for key, value := range e.Headers {
		request.Header.Set(key, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := received{status: response.StatusCode, contentType: response.Header.Get("Content-Type"), reply: string(content)}
	var value any
	if json.Unmarshal(content, &value) == nil {
		out.reply = value
	}
	return out
}

// sendTelnet sends lines, and then one whose answer tells that all were answered.
func (e *exchange) sendTelnet(t *testing.T, address string) string {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const last = "the end of the test"
	var latin []byte
	text, _ := e.text()
	for _, c := range text {
		latin = append(latin, byte(c))
	}
	if _, err := conn.Write(append(latin, last+"\n"...)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	lines := bufio.NewReader(conn)
	for {
		line, err := lines.ReadString('\n')
		if err != nil || strings.Contains(line, "unknown command: the.") {
			return out.String() // after exit the port is closed
		}
		out.WriteString(line)
	}
}
