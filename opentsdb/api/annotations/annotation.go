// Package annotations answers /api/annotation and /api/annotations of OpenTSDB's HTTP API.
package annotations

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/api/evaluation"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Notes keeps annotations; those of a store are one.
type Notes interface {
	query.Notes
	Get(ctx context.Context, tsuid string, start int64) (storage.Annotation, bool, error)
	Put(ctx context.Context, mode storage.AnnotationMode, list []storage.Annotation) ([]storage.Annotation, error)
	Delete(ctx context.Context, tsuid string, start int64) error
	DeleteRange(ctx context.Context, r storage.AnnotationRange) (int, error)
	// CheckTSUID returns what is wrong with the TSUID of a series.
	CheckTSUID(tsuid string) error
}

// Globals finds the global annotations between two times, in seconds.
type Globals interface {
	Globals(ctx context.Context, start, end int64) ([]storage.Annotation, error)
}

// Options are what an API needs. TimeZone is that of dates; nil: UTC.
type Options struct {
	Notes    Notes
	Globals  Globals
	TimeZone *time.Location
	Now      func() time.Time
}

// An API answers /api/annotation and /api/annotations.
type API struct {
	o         Options
	edits     httpapi.Edits
	evaluator *evaluation.Evaluator
}

// New returns an API.
func New(o Options, edits httpapi.Edits, evaluator *evaluation.Evaluator) *API {
	o.TimeZone = cmp.Or(o.TimeZone, time.UTC)
	return &API{o, edits, evaluator}
}

var errStartUnset = httpapi.Illegal("The start timestamp has not been set")

// ServeOne answers /api/annotation[/bulk].
func (a *API) ServeOne(w http.ResponseWriter, r *httpapi.Request) error {
	return a.annotate(w, r, a.getAnnotation)
}

// ServeAll answers /api/annotations[/bulk]: as /api/annotation, but GET lists global ones.
func (a *API) ServeAll(w http.ResponseWriter, r *httpapi.Request) error {
	return a.annotate(w, r, a.listAnnotations)
}

func (a *API) annotate(w http.ResponseWriter, r *httpapi.Request, get func(http.ResponseWriter, *httpapi.Request, storage.Annotation) error) error {
	if err := a.mayAnnotate(r); err != nil {
		return err
	}
	if strings.HasSuffix(r.Below(), "bulk") {
		return a.annotationBulk(w, r)
	}
	note, err := a.readAnnotation(w, r)
	if err != nil {
		return err
	}
	switch r.Verb {
	case http.MethodGet:
		return get(w, r, note)
	case http.MethodDelete:
		return a.deleteAnnotation(w, r, note)
	}
	return a.putAnnotation(w, r, note)
}

// mayAnnotate returns why a request may not do what its method does. Annotations may be written by
// those who may put points, but for pages of other origins; deletions are edits.
func (a *API) mayAnnotate(r *httpapi.Request) error {
	switch r.Verb {
	case http.MethodGet:
		return nil
	case http.MethodDelete:
		return a.edits.Check(r.Request)
	}
	return a.edits.Origins.Check(r.Request)
}

// readAnnotation reads an annotation from the body, or without one from the parameters. What cannot be
// read a TSD answers with status 500.
func (a *API) readAnnotation(w http.ResponseWriter, r *httpapi.Request) (storage.Annotation, error) {
	body, err := httpapi.ReadBodyUpTo(w, r, maxAnnotationBytes)
	if err != nil {
		return storage.Annotation{}, err
	}
	if len(body) == 0 {
		return a.annotationParameters(r.URL.Query())
	}
	var note storage.Annotation
	if err := jackson.Read(body, annotationReader(&note)); err != nil {
		return note, query.SyntaxError{Err: err}
	}
	return note, nil
}

// annotationReader reads an annotation as it is sent.
func annotationReader(note *storage.Annotation) jackson.Reader {
	return jackson.Object(jackson.Fields{
		"tsuid": jackson.Text(&note.TSUID), "startTime": jackson.Long(&note.Start), "endTime": jackson.Long(&note.End),
		"description": jackson.Text(&note.Description), "notes": jackson.Text(&note.Notes), "custom": customReader(&note.Custom),
	})
}

// customReader reads texts by their names.
func customReader(to *map[string]string) jackson.Reader {
	return func(s *jackson.Scanner) error {
		var texts map[string]*string
		if err := jackson.Texts(&texts)(s); err != nil {
			return err
		}
		if *to = nil; texts == nil {
			return nil
		}
		*to = make(map[string]string, len(texts))
		for name, text := range texts {
			if (*to)[name] = ""; text != nil {
				(*to)[name] = *text
			}
		}
		return nil
	}
}

// annotationParameters reads an annotation from parameters, whose times become seconds.
func (a *API) annotationParameters(v url.Values) (note storage.Annotation, err error) {
	note.TSUID, note.Description, note.Notes = v.Get("tsuid"), v.Get("description"), v.Get("notes")
	if note.Start, err = a.seconds(v.Get("start_time")); err != nil {
		return note, err
	}
	if note.Start < 1 {
		return note, httpapi.BadRequest("Missing start time")
	}
	note.End, err = a.seconds(v.Get("end_time"))
	return note, err
}

// seconds reads a time of a parameter, 0 without one.
func (a *API) seconds(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	ms, err := query.ParseTime(text, a.o.TimeZone, a.o.Now())
	switch {
	case err != nil:
		return 0, query.SyntaxError{Err: err}
	case ms > storage.MaxTime:
		return 0, httpapi.BadRequest("Time " + text + " is after the last one that can be stored")
	}
	return ms / 1000, nil
}

func (a *API) getAnnotation(w http.ResponseWriter, r *httpapi.Request, note storage.Annotation) error {
	found, ok, err := a.o.Notes.Get(r.Context(), note.TSUID, note.Start)
	switch {
	case errors.Is(err, storage.ErrInvalid):
		return query.SyntaxError{Err: errors.New(words(err))} // a TSD's status
	case err != nil:
		return err
	case !ok:
		return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to locate annotation in storage"}
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, json.RawMessage(schema.AppendShownAnnotation(nil, found)))
	return nil
}

// putAnnotation writes an annotation. One without anything to write changes nothing.
func (a *API) putAnnotation(w http.ResponseWriter, r *httpapi.Request, note storage.Annotation) error {
	switch {
	case note.Start < 1:
		return errStartUnset
	case setsNothing(&note):
		httpapi.Empty(w, http.StatusNotModified)
		return nil
	}
	stored, err := a.o.Notes.Put(r.Context(), annotationMode(r), []storage.Annotation{note})
	if err != nil {
		return refusedAnnotation(err)
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, json.RawMessage(schema.AppendShownAnnotation(nil, stored[0])))
	return nil
}

// refusedAnnotation returns an error of the store in a TSD's words if the request is wrong.
func refusedAnnotation(err error) error {
	if errors.Is(err, storage.ErrInvalid) {
		return query.RequestError{Message: words(err)}
	}
	return err
}

// words are those of an error, without its class.
func words(err error) string {
	return strings.TrimPrefix(err.Error(), storage.ErrInvalid.Error()+": ")
}

// annotationMode is what becomes of an annotation that is there.
func annotationMode(r *httpapi.Request) storage.AnnotationMode {
	if r.Verb == http.MethodPut {
		return storage.ReplaceAnnotation
	}
	return storage.MergeAnnotation
}

// setsNothing reports whether an annotation has only its place.
func setsNothing(note *storage.Annotation) bool {
	return note.End == 0 && note.Description == "" && note.Notes == "" && note.Custom == nil
}

func (a *API) deleteAnnotation(w http.ResponseWriter, r *httpapi.Request, note storage.Annotation) error {
	err := a.o.Notes.Delete(r.Context(), note.TSUID, note.Start)
	if errors.Is(err, storage.ErrInvalid) {
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to delete Annotation information", Details: words(err)}
	}
	if err != nil {
		return err
	}
	httpapi.Empty(w, http.StatusNoContent)
	return nil
}

// listAnnotations lists global annotations. Without an end that is now.
func (a *API) listAnnotations(w http.ResponseWriter, r *httpapi.Request, note storage.Annotation) error {
	start, end := wholeSeconds(note.Start), wholeSeconds(note.End)
	if note.End == 0 {
		end = a.o.Now().Unix()
	}
	if end < start {
		return query.SyntaxError{Err: errors.New("The end timestamp cannot be less than the start timestamp")} // a TSD's status
	}
	turn, err := a.evaluator.Turn(r.Context())
	if err != nil {
		return err
	}
	defer turn.End()
	list, err := a.o.Globals.Globals(r.Context(), start, end)
	if err != nil {
		return err
	}
	writeAnnotations(w, r, list)
	return nil
}

// wholeSeconds returns a time of an annotation in seconds that can be stored.
func wholeSeconds(time int64) int64 {
	return min(schema.MillisOf(max(time, 0)), storage.MaxTime) / 1000
}

func writeAnnotations(w http.ResponseWriter, r *httpapi.Request, list []storage.Annotation) {
	body := []byte{'['}
	for i, note := range list {
		if i > 0 {
			body = append(body, ',')
		}
		body = schema.AppendShownAnnotation(body, note)
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, json.RawMessage(append(body, ']')))
}
