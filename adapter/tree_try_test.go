package adapter

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
)

// Rules that are stored nowhere place series; what is wrong with them is told.
func TestTreeTry(t *testing.T) {
	a, _ := runAdapter(t, laterOptions(t, ""))
	try := func(body string) (int, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+a.Addr()+trees.TryPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		return r.StatusCode, string(text)
	}
	status, text := try(`{"strictMatch":true,"rules":[{"type":"TAGK","field":"dc"},{"type":"METRIC","level":1,"separator":"\\."}],
		"series":["sys.cpu{dc=\"lga\",host=\"a\"}","sys.cpu{dc=\"lga\",host=\"b\"}","sys.cpu{host=\"c\"}"]}`)
	var got struct{ Data []trees.Placed }
	if err := json.Unmarshal([]byte(text), &got); err != nil || status != http.StatusOK {
		t.Fatalf("%d %v %s", status, err, text)
	}
	for i := range got.Data {
		if len(got.Data[i].Messages) == 0 {
			t.Errorf("%s has no messages", got.Data[i].Name)
		}
		got.Data[i].Messages, got.Data[i].Unmatched = nil, ""
	}
	want := []trees.Placed{
		{Name: `sys.cpu{dc="lga",host="a"}`, Path: "lga.sys.cpu", Outcome: "stored", Sharing: 2},
		{Name: `sys.cpu{dc="lga",host="b"}`, Path: "lga.sys.cpu", Outcome: "stored", Sharing: 2},
		{Name: `sys.cpu{host="c"}`, Outcome: got.Data[2].Outcome},
	}
	if diff := cmp.Diff(want, got.Data); diff != "" || got.Data[2].Outcome == "stored" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for body, want := range map[string]string{
		"":                            "the request",
		`{"rules":[]}`:                "no rules",
		`{"rules":[{"type":"TAGV"}]}`: "TAGV",
		`{"rules":[{"type":"TAGK","field":"a","regex":"("}]}`:                             "rule 0:0",
		`{"rules":[{"type":"METRIC"}],"series":["a{b}"]}`:                                 "a{b}",
		`{"rules":[{"type":"METRIC"}],"series":[` + strings.Repeat(`"a",`, 200) + `"a"]}`: "201 series",
	} {
		if status, text := try(body); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%.100s: %d %s, want %s", body, status, text, want)
		}
	}
	long := strings.Repeat("x", 8<<10)
	if status, text := try(`{"rules":[{"type":"METRIC"}],"series":["x` + long + `"]}`); status != http.StatusBadRequest || !strings.Contains(text, "8192 bytes") {
		t.Errorf("%d %.200s", status, text)
	}
	// Rules that would take minutes are given up.
	rules, series := make([]string, 300), make([]string, 190)
	for i := range rules {
		rules[i] = fmt.Sprintf(`{"type":"METRIC","level":%d,"regex":"(x{0,900}x{0,900}x{0,900}y)"}`, i)
	}
	for i := range series {
		series[i] = `"` + long[:600] + `"`
	}
	body := `{"rules":[` + strings.Join(rules, ",") + `],"series":[` + strings.Join(series, ",") + `]}`
	if status, text := try(body); status != http.StatusUnprocessableEntity || !strings.Contains(text, "take too long") {
		t.Errorf("%d %.200s", status, text)
	}
	if text := servertest.Text(t, a, trees.StatusPath); strings.Contains(text, "tried") {
		t.Errorf("a trial is stored: %s", text)
	}
}
