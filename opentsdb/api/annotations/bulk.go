package annotations

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Bounds of one request.
const (
	maxAnnotationBytes = 512 << 10 // of JSON, which may have 6 bytes for one that is stored
	maxBulkBytes       = 16 << 20
	maxBulkAnnotations = 10_000
	maxBulkTSUIDs      = 1000
)

// annotationBulk answers /api/annotation/bulk.
func (a *API) annotationBulk(w http.ResponseWriter, r *httpapi.Request) error {
	switch r.Verb {
	case http.MethodPost, http.MethodPut:
		return a.putAnnotations(w, r)
	case http.MethodDelete:
		return a.deleteAnnotations(w, r)
	}
	return httpapi.NotAllowed(r.Verb, http.MethodPost, http.MethodPut, http.MethodDelete)
}

// putAnnotations writes a list of annotations. Those without anything to write are left out of the
// answer.
func (a *API) putAnnotations(w http.ResponseWriter, r *httpapi.Request) error {
	body, err := httpapi.ReadBodyUpTo(w, r, maxBulkBytes)
	if err != nil {
		return err
	}
	turn, err := a.evaluator.Turn(r.Context())
	if err != nil {
		return err
	}
	list, err := parseAnnotations(body)
	turn.End() // the store waits for the disk, or for a cluster
	if err != nil {
		return err
	}
	stored, err := a.o.Notes.Put(r.Context(), annotationMode(r), list)
	if err != nil {
		return refusedAnnotation(err)
	}
	writeAnnotations(w, r, stored)
	return nil
}

// parseAnnotations reads an array of annotations.
func parseAnnotations(body []byte) ([]storage.Annotation, error) {
	if len(body) == 0 {
		return nil, httpapi.ErrNoContent
	}
	var list []storage.Annotation
	err := jackson.Read(body, func(s *jackson.Scanner) error {
		if s.Space() != '[' {
			return s.Fail("want an array of annotations")
		}
		n := 0
		return s.Array(func() error {
			if n++; n > maxBulkAnnotations {
				return httpapi.Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("At most %d annotations can be written at once", maxBulkAnnotations)}
			}
			note, err := readBulkAnnotation(s)
			if err == nil && !setsNothing(&note) {
				list = append(list, note)
			}
			return err
		})
	})
	if answer, ok := errors.AsType[httpapi.Error](err); ok {
		return nil, answer
	}
	if err != nil {
		return nil, httpapi.BadJSON(err)
	}
	return list, nil
}

// readBulkAnnotation reads the next annotation of a list.
func readBulkAnnotation(s *jackson.Scanner) (note storage.Annotation, err error) {
	begin := s.I
	if err := s.Skip(0); err != nil {
		return note, err
	}
	raw := s.B[begin:s.I]
	if len(raw) > maxAnnotationBytes {
		return note, httpapi.Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("An annotation may have at most %d bytes", maxAnnotationBytes)}
	}
	if err = jackson.Read(raw, annotationReader(&note)); err == nil && note.Start < 1 {
		err = httpapi.Error{
			Status: http.StatusBadRequest, Message: errStartUnset.Message,
			Details: fmt.Sprintf("Annotation error: TSUID: %.64s Start: %d  Description: %.64s", note.TSUID, note.Start, note.Description),
		}
	}
	return note, err
}

// bulkDeletion is which annotations to delete, as it is sent: AnnotationBulkDelete of OpenTSDB 2.4.1.
type bulkDeletion struct {
	StartTime, EndTime string
	TSUIDs             []string
	Global             bool
}

func (b *bulkDeletion) reader() jackson.Reader {
	return jackson.Strict(jackson.Fields{
		"startTime": jackson.Text(&b.StartTime), "endTime": jackson.Text(&b.EndTime), "tsuids": jackson.List(&b.TSUIDs, jackson.Text[string]),
		"global": jackson.Bool(&b.Global), "totalDeleted": jackson.Long(new(int64)),
	})
}

// deletedAnnotations is the answer to a bulkDeletion, in the order of a TSD's fields.
type deletedAnnotations struct {
	TSUIDs       []string `json:"tsuids"`
	Global       bool     `json:"global"`
	StartTime    int64    `json:"startTime"` // milliseconds
	EndTime      int64    `json:"endTime"`
	TotalDeleted int      `json:"totalDeleted"`
}

// deleteAnnotations deletes the annotations of series, and global ones, in a time.
func (a *API) deleteAnnotations(w http.ResponseWriter, r *httpapi.Request) error {
	asked, err := readBulkDeletion(w, r)
	if err != nil {
		return err
	}
	d, err := asked.parse(a.o.TimeZone, a.o.Now())
	if err != nil {
		return err
	}
	turn, err := a.evaluator.Turn(r.Context())
	if err != nil {
		return err
	}
	defer turn.End()
	for _, tsuid := range d.TSUIDs {
		if err := a.o.Notes.CheckTSUID(tsuid); err != nil {
			return refusedAnnotation(err)
		}
	}
	of := d.TSUIDs
	if d.Global {
		of = append([]string{""}, of...)
	}
	for _, tsuid := range of {
		n, err := a.o.Notes.DeleteRange(r.Context(), storage.AnnotationRange{TSUID: tsuid, From: d.StartTime, To: d.EndTime})
		if err != nil {
			return err
		}
		d.TotalDeleted += n
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, d)
	return nil
}

func readBulkDeletion(w http.ResponseWriter, r *httpapi.Request) (d bulkDeletion, err error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return d, err
	}
	if len(body) == 0 {
		return bulkDeletionParameters(r.URL.Query())
	}
	if err := jackson.Read(body, d.reader()); err != nil {
		return d, httpapi.BadJSON(err)
	}
	return d, nil
}

func bulkDeletionParameters(v url.Values) (bulkDeletion, error) {
	d := bulkDeletion{StartTime: v.Get("start_time"), EndTime: v.Get("end_time"), Global: v.Has("global")}
	if !v.Has("start_time") {
		return d, httpapi.BadRequest("Missing parameter <code>start_time</code>")
	}
	if v.Has("tsuids") {
		for tsuid := range strings.SplitSeq(v.Get("tsuids"), ",") {
			d.TSUIDs = append(d.TSUIDs, strings.TrimSpace(tsuid))
		}
	}
	return d, nil
}

// parse checks a deletion.
func (b *bulkDeletion) parse(zone *time.Location, now time.Time) (*deletedAnnotations, error) {
	d := &deletedAnnotations{Global: b.Global, TSUIDs: b.TSUIDs}
	start, end := b.StartTime, b.EndTime
	switch {
	case slices.Contains(b.TSUIDs, ""):
		return nil, httpapi.BadRequest("A TSUID is empty") // which would mean the global ones
	case start == "":
		return nil, httpapi.BadRequest("Missing the start time value")
	case !d.Global && len(d.TSUIDs) == 0:
		return nil, httpapi.BadRequest("Missing the TSUIDs or global annotations flag")
	case len(d.TSUIDs) > maxBulkTSUIDs:
		return nil, httpapi.Error{Status: http.StatusRequestEntityTooLarge, Message: fmt.Sprintf("At most %d TSUIDs can be named at once", maxBulkTSUIDs)}
	}
	var err error
	if d.StartTime, err = query.ParseTime(start, zone, now); err != nil {
		return nil, query.RequestError{Message: err.Error()}
	}
	if d.EndTime = now.UnixMilli(); end != "" {
		if d.EndTime, err = query.ParseTime(end, zone, now); err != nil {
			return nil, query.RequestError{Message: err.Error()}
		}
	}
	switch {
	case d.EndTime < 1:
		return nil, query.RequestError{Message: "The end timestamp has not been set"}
	case d.EndTime < d.StartTime:
		return nil, query.RequestError{Message: "The end timestamp cannot be less than the start timestamp"}
	}
	return d, nil
}
