package api

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/events"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// mostEvent bounds the body of a posted event in bytes: JSON may have six for one that is stored.
const mostEvent = 512 << 10

// eventRoutes are those of graphite-web's events/urls.py.
func (a *API) eventRoutes() []route {
	list := []string{http.MethodGet, http.MethodPost}
	one := []string{http.MethodGet, http.MethodHead, http.MethodDelete}
	return []route{
		{path: "/events", endpoint: "events", answer: a.events.list, methods: list, changes: true, bodyBytes: mostEvent, jsonErrors: true},
		{path: "/events/get_data", endpoint: "event_data", answer: a.events.eventData, exact: true},
		{path: "/events/{id:[0-9]+}", endpoint: "event", answer: a.events.event, methods: one, changes: true, jsonErrors: true},
	}
}

// eventHandlers answers what /events asks for.
type eventHandlers struct {
	events   *events.Events
	location *time.Location
	now      func() time.Time
	limits   Limits
}

// list answers /events: the list as a page, or what becomes of a posted event.
func (a *eventHandlers) list(r *exchange.Request) (*exchange.Reply, error) {
	if r.Method != http.MethodPost {
		list, err := a.findEvents(r)
		if err != nil {
			return nil, err
		}
		return &exchange.Reply{ContentType: htmlType, Write: func(j *pyjson.Writer) { writeEventList(j, list, a.location) }}, nil
	}
	e, err := events.Parse(r.Message, a.now().UnixMicro())
	if err != nil {
		return nil, exchange.Refuse(http.StatusBadRequest, "%v", err)
	}
	if _, err := a.events.Create(r.Context(), e); err != nil {
		return nil, err
	}
	return &exchange.Reply{ContentType: htmlType, Write: func(*pyjson.Writer) {}}, nil
}

// eventData answers /events/get_data.
func (a *eventHandlers) eventData(r *exchange.Request) (*exchange.Reply, error) {
	call, err := r.Params.JSONP()
	if err != nil {
		return nil, err
	}
	list, err := a.findEvents(r)
	if err != nil {
		return nil, err
	}
	return &exchange.Reply{ContentType: pyjson.ContentType, JSONP: call, Write: func(j *pyjson.Writer) {
		pyjson.Array(j, list, func(e events.Event) {
			j.Value(pyjson.Object{{Key: "when", Value: e.Seconds()}, {Key: "what", Value: e.What}, {Key: "data", Value: e.Data}, {Key: "tags", Value: e.Words()}, {Key: "id", Value: e.ID}})
		})
	}}, nil
}

// event answers /events/ID: an event as JSON or as a page, and what becomes of one that is deleted.
func (a *eventHandlers) event(r *exchange.Request) (*exchange.Reply, error) {
	id, err := strconv.ParseInt(exchange.PathParam(r, "id"), 10, 64)
	if err != nil {
		return nil, errNoEvent
	}
	e, err := a.oneEvent(r, id)
	if err != nil {
		return nil, err
	}
	if r.Header.Get("Accept") == pyjson.ContentType || r.Method == http.MethodDelete {
		when := time.UnixMicro(e.When).UTC().Format("2006-01-02T15:04:05.000Z")
		return r.PlainReply(pyjson.Object{
			{Key: "id", Value: e.ID}, {Key: "when", Value: strings.Replace(when, ".000Z", "Z", 1)}, {Key: "what", Value: e.What}, {Key: "data", Value: e.Data}, {Key: "tags", Value: e.Words()},
		}), nil
	}
	return &exchange.Reply{ContentType: htmlType, Write: func(j *pyjson.Writer) { writeEvent(j, &e, a.location) }}, nil
}

// errNoEvent has graphite-web's words.
var errNoEvent = exchange.Refuse(http.StatusNotFound, "Event matching query does not exist")

// oneEvent returns an event, or deletes it, as the method wants.
func (a *eventHandlers) oneEvent(r *exchange.Request, id int64) (events.Event, error) {
	get := a.events.Get
	if r.Method == http.MethodDelete {
		get = a.events.Delete
	}
	e, ok, err := get(r.Context(), id)
	switch {
	case errors.Is(err, events.ErrForeign):
		return e, exchange.Refuse(http.StatusForbidden, "%v", err)
	case err == nil && !ok:
		return e, errNoEvent
	}
	return e, err
}

// findEvents returns the events that the query string asks for; a body does not count.
func (a *eventHandlers) findEvents(r *exchange.Request) ([]events.Event, error) {
	f := exchange.Form{}
	if err := f.Add(r.URL.RawQuery); err != nil {
		return nil, err
	}
	q, err := a.eventQuery(f)
	if err != nil {
		return nil, err
	}
	return a.events.Find(r.Context(), q)
}

// eventQuery reads the parameters from, until, tags and set.
func (a *eventHandlers) eventQuery(f exchange.Form) (events.Query, error) {
	now := a.now()
	q := events.Query{Until: now.UnixMicro(), Set: events.ParseSet(f.Get("set")), Limit: a.limits.Series}
	for key, bound := range map[string]*int64{"from": &q.From, "until": &q.Until} {
		if !f.Has(key) {
			continue
		}
		at, err := timespec.ParseTime(f.Get(key), a.location, now)
		if err != nil {
			return q, exchange.InvalidParams("Invalid value %s for param %s: %v", exchange.Quoted(f.Get(key)), key, err)
		}
		*bound = microsOf(at.Unix()) + int64(at.Nanosecond()/1000) // now is within its second
	}
	if f.Has("tags") {
		q.Tags = strings.Split(f.Get("tags"), " ")
	}
	if len(q.Tags) > maxTags {
		return q, exchange.InvalidParams("more than %d tags", maxTags)
	}
	if q.Tags == nil && q.Set == events.Intersection {
		return q, exchange.InvalidParams("set=intersection needs tags")
	}
	return q, nil
}

// maxTags bounds the tags that events are searched by.
const maxTags = 1000

// Events implements eval.EventSource.
func (s *countedSource) Events(ctx context.Context, tags []string, from, until int64) ([]int64, error) {
	if s.events == nil || len(tags) > maxTags {
		return nil, nil
	}
	list, err := s.events.Find(ctx, events.Query{From: microsOf(from), Until: microsOf(until), Tags: tags, Limit: s.mostEvents})
	times := make([]int64, len(list))
	for i := range list {
		times[i] = list[i].Seconds()
	}
	return times, err
}

// microsOf returns seconds of a time that can be stored in microseconds.
func microsOf(seconds int64) int64 {
	return min(max(seconds, -1), storage.MaxTime) * int64(time.Second/time.Microsecond)
}
