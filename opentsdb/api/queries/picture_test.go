package queries_test

import (
	"bytes"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestPictures asks for pictures on the path of OpenTSDB 1.
func TestPictures(t *testing.T) {
	address := tsdtest.Start(t)
	if status, text := tsdtest.Ask(t, "POST", "http://"+address+"/api/put", `[{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"a"}},{"metric":"m","timestamp":1356998500,"value":5,"tags":{"host":"b"}}]`); status != http.StatusNoContent {
		t.Fatal(status, text)
	}
	const q = "/q?start=1356998400&end=1356998600&m=sum:m{host=*}&o=axis+x1y2"
	status, text := tsdtest.Ask(t, "GET", "http://"+address+q+"&png&wxh=400x300&title=a`id`", "")
	if picture, err := png.Decode(bytes.NewReader([]byte(text))); err != nil || status != http.StatusOK || picture.Bounds().Dx() != 400 || picture.Bounds().Dy() != 300 {
		t.Errorf("%d %v %.100q", status, err, text)
	}
	if status, text := tsdtest.Ask(t, "GET", "http://"+address+q+"&json", ""); status != http.StatusOK || !strings.Contains(text, `"plotted":2`) || !strings.Contains(text, `"etags":[[],[]]`) {
		t.Error(status, text)
	}
	for parameters, want := range map[string]int{
		"&png&wxh=9999x9999": http.StatusBadRequest, "&png&yrange=[system('id'):]": http.StatusBadRequest, "&png&o=": http.StatusBadRequest,
		"": http.StatusBadRequest,
	} {
		if status, text := tsdtest.Ask(t, "GET", "http://"+address+q+parameters, ""); status != want || !strings.Contains(text, `{"err":`) {
			t.Errorf("%s: %d %.200s", parameters, status, text)
		}
	}
}
