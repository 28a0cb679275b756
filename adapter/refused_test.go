package adapter

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Samples of what each door refuses are listed, with door, client, reason and text.
func TestRefused(t *testing.T) {
	o := storeTestOptions(t, write.Through)
	o.OpenTSDB.ListenAddress, o.Carbon.ListenAddress = "127.0.0.1:0", "127.0.0.1:0"
	o.Carbon.MaxFuture = time.Hour
	a, stop := runAdapter(t, o)
	defer stop()
	port := "http://" + a.opentsdb.Addr()
	status, _ := post(t, "http://"+a.Addr()+"/api/v1/write", "application/x-protobuf", "nonsense")
	if status != http.StatusBadRequest {
		t.Fatal(status)
	}
	if status, body := post(t, port+"/api/put", "application/json", `[{"metric":"m","timestamp":1,"value":"x","tags":{"a":"b"}}]`); status != http.StatusBadRequest {
		t.Fatal(status, body)
	}
	telnet(t, a.opentsdb.Addr(), "put telnet.bad nonsense 1 a=b\nexit\n")
	telnet(t, a.CarbonAddr(), "carbon.bad nonsense nonsense\n")
	type refusals struct {
		Sources []rejections.Source
		Doors   []rejections.Source
		Samples []rejections.Sample
	}
	list := func(query string) (got refusals) {
		status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+"/api/v1/status/refused"+query, nil)
		if err := json.Unmarshal([]byte(body), &struct{ Data *refusals }{&got}); err != nil || status != http.StatusOK {
			t.Fatal(status, body)
		}
		return got
	}
	all := list("")
	if len(all.Sources) != 4 || !slices.Equal(all.Sources, all.Doors) {
		t.Errorf("%+v, %+v", all.Sources, all.Doors)
	}
	for door, text := range map[string]string{rejections.RemoteWrite: "", rejections.OpenTSDBHTTP: `{"metric":"m"`, rejections.OpenTSDBTelnet: "telnet.bad", rejections.Carbon: "carbon.bad"} {
		got := list("?limit=1&source=" + url.QueryEscape(door))
		if len(got.Samples) != 1 {
			t.Fatalf("%s: %+v", door, got)
		}
		if s := got.Samples[0]; s.Source != door || s.Door != door || !strings.HasPrefix(s.Client, "127.0.0.1:") || s.Reason == "" || !strings.Contains(s.Text, text) || s.Points != 1 || s.Time.IsZero() {
			t.Errorf("%+v", s)
		}
	}
	// What the store refuses, and the rarer forms.
	long := strings.Repeat("x", 70_000)
	telnet(t, a.opentsdb.Addr(), "histogram telnet.histogram 1500000000 u=1:0,1=x a=b\nput "+long+" 1500000000 1 a=b\nexit\n")
	telnet(t, a.CarbonAddr(), "carbon.far 1 4000000000\n")
	if status, body := post(t, port+"/api/rollup", "application/json", `[{"metric":"rolled.bad","timestamp":1500000000,"value":1,"interval":"7x","aggregator":"sum","tags":{"a":"b"}}]`); status != http.StatusBadRequest {
		t.Error(status, body)
	}
	for door, texts := range map[string][]string{rejections.OpenTSDBHTTP: {"rolled.bad"}, rejections.OpenTSDBTelnet: {"telnet.histogram", ""}, rejections.Carbon: {"carbon.far"}} {
		samples := list("?door=" + url.QueryEscape(door)).Samples
		for _, text := range texts {
			if !slices.ContainsFunc(samples, func(s rejections.Sample) bool {
				return strings.Contains(s.Text, text) && (text != "" || s.Text == "") && strings.HasPrefix(s.Client, "127.0.0.1:") && s.Reason != ""
			}) {
				t.Errorf("%s: no sample with %q: %+v", door, text, samples)
			}
		}
	}
	if status, body := promtest.Do(t, http.MethodGet, "http://"+a.Addr()+"/api/v1/status/refused"+"?limit=0", nil); status != http.StatusBadRequest || !strings.Contains(body, "limit=") {
		t.Error(status, body)
	}
}

// telnet sends lines, and returns when they have been read.
func telnet(t *testing.T, address, lines string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, lines); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); err != nil {
		t.Fatal(err)
	}
}

func post(t *testing.T, address, contentType, body string) (status int, text string) {
	t.Helper()
	resp, err := http.Post(address, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(all)
}
