package opentsdbtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// An exchange is a request to a real TSD 2.4.1 and its reply. opentsdb/testdata/README.md describes how they
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

// Replay replays a file of a folder of what was recorded: all of it, or some phases. The file of differences belongs to it.
func Replay(t *testing.T, address, folder, recorded, differences string, only ...string) {
	t.Helper()
	reasons := readDifferences(t, folder+"/"+differences)
	phases := map[string]int{}
	for _, e := range ReadExchanges(t, folder+"/"+recorded) {
		if len(only) > 0 && !slices.Contains(only, e.Phase) {
			continue
		}
		difference := e.differs(e.Send(t, address))
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
		t.Errorf("%s lists %s, which was not recorded", differences, id)
	}
	t.Logf("answered as by a TSD: %v", phases)
}

// ReadExchanges returns what a file has, which is named without its ending.
func ReadExchanges(t testing.TB, name string) (all []exchange) {
	file, err := os.Open(name + ".jsonl.gz")
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
	text, err := os.ReadFile(name)
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
	Status      int
	ContentType string
	Reply       any
}

func (e *exchange) Send(t *testing.T, address string) received {
	if e.Kind == "telnet" {
		return received{ContentType: "telnet", Reply: e.sendTelnet(t, address)}
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
	out := received{Status: response.StatusCode, ContentType: response.Header.Get("Content-Type"), Reply: string(content)}
	var value any
	if json.Unmarshal(content, &value) == nil {
		out.Reply = value
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
