package e2e_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"
)

// globalNote is a global annotation as a TSD shows it beside the points of a query.
type globalNote struct {
	Description string            `json:"description"`
	Notes       string            `json:"notes"`
	StartTime   int64             `json:"startTime"`
	Custom      map[string]string `json:"custom"`
}

// graphiteEvent is an event as /events/get_data shows it.
type graphiteEvent struct {
	ID   int64    `json:"id"`
	When int64    `json:"when"`
	What string   `json:"what"`
	Data string   `json:"data"`
	Tags []string `json:"tags"`
}

// testTSDEvents: events of Graphite are global annotations of a TSD, and the other way around.
func testTSDEvents(t *testing.T, s tables) {
	s.create(t)
	a := s.startAdapter(t)
	d := s.startTSD(t, false, withoutMeta()...)
	d.Put(t, tsdPoint{Metric: "beside.events", Timestamp: second(30), Value: "1", Tags: map[string]string{"host": "a"}})
	for _, body := range []string{
		fmt.Sprintf(`{"what":"deployed","tags":["release","web"],"when":%d,"data":"version 7"}`, second(10)),
		fmt.Sprintf(`{"what":"rolled back","tags":"release","when":%d}`, second(10)), // in the same second
	} {
		a.Post(t, "/events/", nil, []byte(body)).ok(t)
	}
	deployed := globalNote{Description: "deployed", Notes: "version 7", Custom: map[string]string{"tags": "release web"}}
	back := globalNote{Description: "rolled back", Custom: map[string]string{"tags": "release"}}
	checkGlobalNotes(t, d, deployed, back)

	note, err := json.Marshal(map[string]any{"startTime": second(20), "description": "by the TSD", "notes": "disk full", "custom": map[string]string{"tags": "disk"}})
	if err != nil {
		t.Fatal(err)
	}
	d.Post(t, "/api/annotation", map[string]string{"Content-Type": "application/json"}, note).ok(t)
	found := events(t, a, "")
	for _, want := range []graphiteEvent{
		{When: second(10), What: "deployed", Data: "version 7", Tags: []string{"release", "web"}},
		{When: second(10), What: "rolled back", Tags: []string{"release"}},
		{When: second(20), What: "by the TSD", Data: "disk full", Tags: []string{"disk"}},
	} {
		if !slices.ContainsFunc(found, want.same) {
			t.Errorf("no event %+v in %+v", want, found)
		}
	}
	if disk := events(t, a, "disk"); len(found) != 3 || len(disk) != 1 || disk[0].What != "by the TSD" {
		t.Errorf("events %+v, with the tag disk %+v; want 3 and 1", found, disk)
	}
	deleteEvent(t, a, found, "deployed")
	checkGlobalNotes(t, d, back, globalNote{Description: "by the TSD", Notes: "disk full", Custom: map[string]string{"tags": "disk"}})
}

// same compares all but the id.
func (e graphiteEvent) same(other graphiteEvent) bool {
	return e.When == other.When && e.What == other.What && e.Data == other.Data && slices.Equal(e.Tags, other.Tags)
}

// checkGlobalNotes compares the global annotations of a TSD, sorted by time, in text, notes and tags.
func checkGlobalNotes(t *testing.T, d tsd, want ...globalNote) {
	t.Helper()
	var answer []struct{ GlobalAnnotations []globalNote }
	d.getJSON(t, "/api/query?"+url.Values{
		"m": {"none:beside.events"}, "start": {fmt.Sprint(epoch.Unix())}, "end": {fmt.Sprint(epoch.Add(time.Hour).Unix())},
		"global_annotations": {"true"},
	}.Encode(), &answer)
	if len(answer) != 1 {
		t.Fatalf("%d series, want 1", len(answer))
	}
	got := answer[0].GlobalAnnotations
	slices.SortFunc(got, func(a, b globalNote) int { return cmp.Compare(milliseconds(a.StartTime), milliseconds(b.StartTime)) })
	same := func(a, b globalNote) bool {
		return a.Description == b.Description && a.Notes == b.Notes && a.Custom["tags"] == b.Custom["tags"]
	}
	if !slices.EqualFunc(got, want, same) {
		t.Errorf("the TSD has the global annotations\n%+v, want\n%+v", got, want)
	}
}

// milliseconds returns a time of OpenTSDB, which is in seconds or milliseconds, in milliseconds.
func milliseconds(at int64) int64 {
	if at < 1<<32 {
		return at * 1000
	}
	return at
}

// events returns the events of the hour, those that have a tag if there is one.
func events(t *testing.T, a *adapter, tag string) (list []graphiteEvent) {
	t.Helper()
	form := url.Values{"from": {fmt.Sprint(epoch.Unix())}, "until": {fmt.Sprint(epoch.Add(time.Hour).Unix())}}
	if tag != "" {
		form.Set("tags", tag)
	}
	r := a.Get(t, "/events/get_data?"+form.Encode()).ok(t)
	if err := json.Unmarshal(r.body, &list); err != nil {
		t.Fatalf("%v in %v", err, r)
	}
	return list
}

// deleteEvent deletes the event of a list that says what.
func deleteEvent(t *testing.T, a *adapter, list []graphiteEvent, what string) {
	t.Helper()
	for _, e := range list {
		if e.What != what {
			continue
		}
		r, err := a.do(t.Context(), http.MethodDelete, fmt.Sprintf("/events/%d", e.ID), nil, nil)
		if err != nil || r.status != http.StatusOK {
			t.Fatalf("delete %+v: %v, %v", e, r, err)
		}
	}
}
