package opentsdb_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestJSONAsRecorded sends bodies of all kinds as they were sent to a TSD 2.4.1: text behind the JSON, texts for numbers
// and numbers for texts, null, fields that are unknown or in other letters. testdata/json.tsv.gz has a line for each:
// method, path, body, status, begin of the answer.
func TestJSONAsRecorded(t *testing.T) {
	p := "http://" + tsdtest.Start(t)
	put := `[{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}},{"metric":"m","timestamp":1356998400,"value":2,"tags":{"host":"b","cpu":"0"}}]`
	if status, text := tsdtest.Ask(t, http.MethodPost, p+"/api/put", put); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	f, err := os.Open("testdata/json.tsv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for s := bufio.NewScanner(lines); s.Scan(); n++ {
		part := strings.Split(s.Text(), "\t")
		method, path, body, want, answer := part[0], part[1], part[2], part[3], part[4]
		status, text := tsdtest.Ask(t, method, p+path, body)
		if strings.Contains(body, "}{") && strings.HasPrefix(path, "/api/put") {
			want = "400" // a TSD answers 200 and loses the second point
		}
		if class(status) != class(number3(want)) {
			t.Errorf("%s %s %s: %d %.200s, a TSD has %s %s", method, path, body, status, text, want, answer)
		}
		if path == "/api/query" && want == "200" && len(answer) < 250 && !reflect.DeepEqual(decoded(text), decoded(answer)) {
			t.Errorf("%s %s: %s, a TSD has %s", path, body, text, answer)
		}
	}
	if n < 130 {
		t.Errorf("%d lines", n)
	}
}

// class is 2 of what was done, and 4 of what was not: a TSD has 500 for much that is the client's fault.
func class(status int) int { return min(status/100, 4) }

func number3(text string) int {
	return int(text[0]-'0')*100 + int(text[1]-'0')*10 + int(text[2]-'0')
}

func decoded(text string) (v any) {
	_ = json.Unmarshal([]byte(text), &v)
	return v
}
