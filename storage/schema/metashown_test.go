package schema

import (
	"encoding/json"
	"math"
	"testing"
)

// TestDescribedSeries prints a series as a TSD does: it leaves out the custom fields of a series that
// has none, but not those of a UID.
func TestDescribedSeries(t *testing.T) {
	s := DescribedSeries{
		TSMeta:       TSMeta{TSUID: "000009000004000008", Created: 1795248233, Max: math.NaN(), Min: -0.5, Units: "s", Retention: 7},
		Metric:       DescribedUID{UIDMeta{Type: "METRIC", Created: 1795248232, Custom: Custom{}.With("a", `"`).With("b", "2")}, []byte{0, 0, 9}, "app.lone"},
		LastReceived: 1795248234, Points: 3,
	}
	for i, name := range []string{"s", "é<"} {
		s.Tags = append(s.Tags, DescribedUID{UIDMeta{Type: []string{"TAGK", "TAGV"}[i], DisplayName: "shown"}, []byte{0, 0, byte(4 + 4*i)}, name})
	}
	const want = `{"tsuid":"000009000004000008","metric":{"uid":"000009","type":"METRIC","name":"app.lone","description":"","notes":"","created":1795248232,` +
		`"custom":{"a":"\"","b":"2"},"displayName":""},"tags":[{"uid":"000004","type":"TAGK","name":"s","description":"","notes":"","created":0,"custom":null,"displayName":"shown"},` +
		`{"uid":"000008","type":"TAGV","name":"é<","description":"","notes":"","created":0,"custom":null,"displayName":"shown"}],"description":"","notes":"","created":1795248233,` +
		`"units":"s","retention":7,"max":"NaN","min":-0.5,"displayName":"","dataType":"","lastReceived":1795248234,"totalDatapoints":3}`
	if got := string(s.AppendShown(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.Custom = Custom{}.With("k", "v")
	var read struct{ Custom map[string]string }
	if err := json.Unmarshal(s.AppendShown(nil), &read); err != nil || read.Custom["k"] != "v" {
		t.Errorf("custom fields %v, %v", read.Custom, err)
	}
	var kinds string
	for kind, uid := range s.UIDs() {
		if kinds += kind.String() + "=" + uid.Name + " "; uid.Name == "s" {
			break
		}
	}
	if kinds != "metric=app.lone tagk=s " {
		t.Errorf("UIDs: %s", kinds)
	}
}
