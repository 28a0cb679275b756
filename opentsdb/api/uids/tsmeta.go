package uids

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// tsMeta answers /api/uid/tsmeta.
func (a *API) tsMeta(w http.ResponseWriter, r *httpapi.Request) error {
	switch r.Verb {
	case http.MethodGet:
		if r.URL.Query().Has("tsuid") {
			return a.getTSMeta(w, r)
		}
		return a.listTSMeta(w, r)
	case http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		return httpapi.NotAllowed(r.Verb, httpapi.EveryMethod()...)
	}
	if err := a.edits.Check(r.Request); err != nil {
		return err
	}
	e, err := readTSMetaEdit(w, r)
	switch {
	case err != nil:
		return err
	case r.Verb == http.MethodDelete:
		return a.deleteTSMeta(w, r, &e)
	case e.TSUID == "":
		return a.editTSMetaByName(w, r, &e)
	}
	return a.editTSMeta(w, r, &e)
}

// getTSMeta shows the document of a series. What is wrong with the TSUID has a TSD's status: 500.
func (a *API) getTSMeta(w http.ResponseWriter, r *httpapi.Request) error {
	tsuid, err := parseUID(r.Last("tsuid"))
	if err != nil {
		return tsdquery.SyntaxError{Err: err}
	}
	return a.showTSMeta(w, r, tsuid)
}

func (a *API) showTSMeta(w http.ResponseWriter, r *httpapi.Request, tsuid []byte) error {
	m, ok, err := a.o.Metadata.SeriesMeta(r.Context(), tsuid)
	if err != nil {
		return noUID(err, "Unable to find one of the UIDs")
	}
	if !ok {
		return httpapi.Error{Status: http.StatusNotFound, Message: "Could not find Timeseries meta data"}
	}
	one := []schema.SeriesMeta{m}
	if err := a.received(r.Context(), one); err != nil {
		return err
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, json.RawMessage(one[0].AppendShown(nil)))
	return nil
}

// received makes the newest point of a series count as received, if its counter is older: tsdbridge
// counts no points, see docs/decisions/storage/tsmeta-counter.md.
func (a *API) received(ctx context.Context, list []schema.SeriesMeta) error {
	tsuids := make([][]byte, len(list))
	for i := range list {
		tsuids[i] = list[i].Series()
	}
	times, err := a.o.Points.Newest(ctx, tsuids)
	for i, ms := range times {
		list[i].LastReceived = max(list[i].LastReceived, ms/1000)
	}
	return err
}

// listTSMeta shows the documents of the series that have a metric and tags.
func (a *API) listTSMeta(w http.ResponseWriter, r *httpapi.Request) error {
	m, err := r.Required("m")
	if err != nil {
		return err
	}
	named, err := tsdquery.ParseSeriesName(m)
	if err != nil {
		return httpapi.Illegal(err.Error())
	}
	if named.Metric == "" {
		return tsdquery.SyntaxError{Err: errors.New("Metric cannot be null or empty")}
	}
	var body []byte
	err = a.evaluator.Compute(r.Context(), r.RemoteAddr, "tsmeta "+m, func(ctx context.Context) error {
		metric, tags, err := a.resolveName(ctx, named)
		if unknown, ok := errors.AsType[tsdquery.UnknownNameError](err); ok && unknown.Kind == "metrics" {
			return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to find one of the UIDs", Details: unknown.Error()}
		}
		if err != nil {
			return err
		}
		list, err := a.o.Metadata.SeriesMetas(ctx, metric, tags, a.o.MaxSeries)
		if err != nil {
			return err
		}
		if err := a.received(ctx, list); err != nil {
			return err
		}
		body, err = showTSMetas(ctx, list)
		return err
	})
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, json.RawMessage(body))
	return nil
}

// showTSMetas prints documents. Those of UIDs are printed with each of their series.
func showTSMetas(ctx context.Context, list []schema.SeriesMeta) ([]byte, error) {
	body := []byte{'['}
	for i := range list {
		if i > 0 {
			body = append(body, ',')
		}
		before := len(body)
		body = list[i].AppendShown(body)
		if err := query.AccountOf(ctx).Take(int64(len(body) - before)); err != nil {
			return nil, err
		}
	}
	return append(body, ']'), nil
}

// readTSMetaEdit reads an edit from the body, or without one from the parameters.
func readTSMetaEdit(w http.ResponseWriter, r *httpapi.Request) (e schema.TSMetaEdit, err error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return e, err
	}
	if len(body) > 0 {
		if body, err = jackson.Standard(body); err != nil {
			return e, httpapi.BadJSON(err)
		}
		if e, err = schema.ParseTSMetaEdit(body); err != nil {
			return e, httpapi.BadJSON(err)
		}
		return e, nil
	}
	e.TSUID = r.Last("tsuid")
	for parameter, name := range map[string]string{
		"display_name": "displayName", "description": "description", "notes": "notes", "units": "units", "data_type": "dataType",
	} {
		e.SetText(name, schema.TextOf(r.Last(parameter)))
	}
	if text := r.Last("retention"); text != "" {
		days, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return e, httpapi.BadRequest("Unable to parse 'retention' value")
		}
		e.SetRetention(int(days))
	}
	for parameter, set := range map[string]func(float64){"max": e.SetMax, "min": e.SetMin} {
		text := strings.TrimSpace(r.Last(parameter))
		if text == "" {
			continue
		}
		f, err := strconv.ParseFloat(text, 32) // a TSD's float
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return e, httpapi.BadRequest("Unable to parse '" + parameter + "' value")
		}
		set(f)
	}
	return e, nil
}

// editTSMeta changes the document of a series that is named by its TSUID.
func (a *API) editTSMeta(w http.ResponseWriter, r *httpapi.Request, e *schema.TSMetaEdit) error {
	if !e.Changes() {
		httpapi.Empty(w, http.StatusNotModified)
		return nil
	}
	tsuid, err := a.tsuidOf(e.TSUID)
	if err != nil {
		return httpapi.Illegal(err.Error())
	}
	return a.saveTSMeta(w, r, tsuid, func() error {
		return a.o.Metadata.EditSeriesMeta(r.Context(), tsuid, e, r.Verb == http.MethodPut)
	})
}

// saveTSMeta saves a document and shows it.
func (a *API) saveTSMeta(w http.ResponseWriter, r *httpapi.Request, tsuid []byte, save func() error) error {
	err := save()
	if errors.Is(err, documents.ErrNoDocument) {
		return httpapi.Illegal(err.Error())
	}
	if err != nil {
		return lost(noUID(err, "Unable to find one or more UIDs"), "TSMeta")
	}
	return a.showTSMeta(w, r, tsuid)
}

// tsuidOf reads a TSUID with a metric and tags.
func (a *API) tsuidOf(text string) ([]byte, error) {
	l := a.o.Layout
	switch digits := len(text) - 2*l.MetricWidth; {
	case digits <= 0:
		return nil, errors.New("TSUID is too short, may be missing tags")
	case digits%(2*l.PairWidth()) != 0:
		return nil, errors.New("The TSUID appears to be malformed, improper tag width")
	}
	return parseUID(text)
}

// editTSMetaByName changes the document of a series that is named by its metric and tags. With
// create=true it makes one.
func (a *API) editTSMetaByName(w http.ResponseWriter, r *httpapi.Request, e *schema.TSMetaEdit) error {
	m, err := r.Required("m")
	if err != nil {
		return err
	}
	named, err := tsdquery.ParseSeriesName(m)
	if err != nil {
		return httpapi.Illegal(err.Error())
	}
	metric, tags, err := a.resolveName(r.Context(), named)
	if unknown, ok := errors.AsType[tsdquery.UnknownNameError](err); ok {
		return httpapi.Error{Status: http.StatusNotFound, Message: "Unable to find one or more UIDs", Details: unknown.Error()}
	}
	if err != nil {
		return err
	}
	tsuid := a.o.Layout.AppendTSUID(nil, []byte(metric), tags)
	if len(tags) == 0 {
		return httpapi.Illegal("TSUID is too short, may be missing tags")
	}
	exists, err := a.o.Metadata.HasSeriesMeta(r.Context(), tsuid)
	switch {
	case err != nil:
		return err
	case exists && !e.Changes():
		httpapi.Empty(w, http.StatusNotModified)
		return nil
	case !exists && r.Last("create") != "true":
		return httpapi.BadRequest(`Could not find TSMeta, specify "create=true" to create a new one.`)
	}
	replace := r.Verb == http.MethodPut
	return a.saveTSMeta(w, r, tsuid, func() error {
		if exists {
			return a.o.Metadata.EditSeriesMeta(r.Context(), tsuid, e, replace)
		}
		return a.o.Metadata.CreateSeriesMeta(r.Context(), tsuid, e, replace)
	})
}

// deleteTSMeta deletes a document, which need not be there.
func (a *API) deleteTSMeta(w http.ResponseWriter, r *httpapi.Request, e *schema.TSMetaEdit) error {
	var tsuid []byte
	err := errors.New("Missing UID")
	if e.TSUID != "" {
		tsuid, err = parseUID(e.TSUID)
	}
	if err != nil {
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to delete TSMeta information", Details: err.Error()}
	}
	if err := a.o.Metadata.DeleteSeriesMeta(r.Context(), tsuid); err != nil {
		return err
	}
	httpapi.Empty(w, http.StatusNoContent)
	return nil
}

// resolveName returns the UIDs of a name; the tags are in the order of those of their keys.
func (a *API) resolveName(ctx context.Context, s tsdquery.SeriesName) (metric string, tags []schema.Pair, err error) {
	names := [3][]string{storage.MetricName: {s.Metric}}
	for _, t := range s.Tags {
		names[storage.TagKeyName], names[storage.TagValueName] = append(names[storage.TagKeyName], t.Key), append(names[storage.TagValueName], t.Value)
	}
	var uids [3][]string
	for _, kind := range storage.NameKinds() {
		if uids[kind], err = a.o.Names.Lookup(ctx, kind, names[kind]); err != nil {
			return "", nil, err
		}
		if i := slices.Index(uids[kind], ""); i >= 0 {
			return "", nil, tsdquery.UnknownNameError{Kind: kind.Plural(), Name: names[kind][i]}
		}
	}
	for i := range s.Tags {
		tags = append(tags, schema.Pair{Key: []byte(uids[storage.TagKeyName][i]), Value: []byte(uids[storage.TagValueName][i])})
	}
	slices.SortFunc(tags, func(x, y schema.Pair) int { return bytes.Compare(x.Key, y.Key) })
	return uids[storage.MetricName][0], tags, nil
}
