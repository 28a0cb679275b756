package uids

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Metadata keeps the documents of UIDs and series; those of a store are one.
type Metadata interface {
	UIDMeta(ctx context.Context, kind storage.NameKind, uid string) (schema.NamedUIDMeta, error)
	EditUIDMeta(ctx context.Context, uid string, e *schema.UIDMetaEdit, replace bool) error
	DeleteUIDMeta(ctx context.Context, kind storage.NameKind, uid string) error

	SeriesMeta(ctx context.Context, tsuid []byte) (m schema.SeriesMeta, ok bool, err error)
	SeriesMetas(ctx context.Context, metric string, tags []schema.Pair, most int) ([]schema.SeriesMeta, error)
	HasSeriesMeta(ctx context.Context, tsuid []byte) (bool, error)
	EditSeriesMeta(ctx context.Context, tsuid []byte, e *schema.TSMetaEdit, replace bool) error
	CreateSeriesMeta(ctx context.Context, tsuid []byte, e *schema.TSMetaEdit, replace bool) error
	DeleteSeriesMeta(ctx context.Context, tsuid []byte) error
}

// uidMeta answers /api/uid/uidmeta.
func (a *API) uidMeta(w http.ResponseWriter, r *httpapi.Request) error {
	switch r.Verb {
	case http.MethodGet:
		return a.getUIDMeta(w, r)
	case http.MethodPost, http.MethodPut, http.MethodDelete:
	default:
		return httpapi.NotAllowed(r.Verb, httpapi.EveryMethod()...)
	}
	if err := a.edits.Check(r.Request); err != nil {
		return err
	}
	e, err := readUIDMetaEdit(w, r)
	if err != nil {
		return err
	}
	if r.Verb == http.MethodDelete {
		return a.deleteUIDMeta(w, r, &e)
	}
	return a.editUIDMeta(w, r, &e)
}

// getUIDMeta shows a document. What is wrong with the UID has a TSD's status: 500.
func (a *API) getUIDMeta(w http.ResponseWriter, r *httpapi.Request) error {
	text, err := r.Required("uid")
	if err != nil {
		return err
	}
	name, err := r.Required("type")
	if err != nil {
		return err
	}
	kind, err := storage.ParseNameKind(name)
	if err != nil {
		return query.SyntaxError{Err: err}
	}
	uid, err := a.uidOf(kind, text)
	if err != nil {
		return query.SyntaxError{Err: err}
	}
	return a.showUIDMeta(w, r, kind, uid)
}

func (a *API) showUIDMeta(w http.ResponseWriter, r *httpapi.Request, kind storage.NameKind, uid string) error {
	m, err := a.o.Metadata.UIDMeta(r.Context(), kind, uid)
	if err != nil {
		return noUID(err, "Could not find the requested UID")
	}
	httpapi.WriteJSON(w, r.Request, http.StatusOK, json.RawMessage(m.AppendShown(nil)))
	return nil
}

// noUID returns the answer to an error that says that a UID has no name; other errors stay.
func noUID(err error, message string) error {
	if none, ok := errors.AsType[storage.NoNameOfUIDError](err); ok {
		return httpapi.Error{Status: http.StatusNotFound, Message: message, Details: none.Error()}
	}
	return err
}

// lost returns the answer to an edit that others prevented; other errors stay.
func lost(err error, document string) error {
	if errors.Is(err, documents.ErrEdited) {
		return httpapi.Error{
			Status: http.StatusInternalServerError, Message: "Failed to save the " + document + " to storage", Details: "This may be caused by another process modifying storage data",
		}
	}
	return err
}

// readUIDMetaEdit reads an edit from the body, or without one from the parameters.
func readUIDMetaEdit(w http.ResponseWriter, r *httpapi.Request) (e schema.UIDMetaEdit, err error) {
	body, err := httpapi.ReadBody(w, r)
	if err != nil {
		return e, err
	}
	if len(body) > 0 {
		if body, err = jackson.Standard(body); err != nil {
			return e, httpapi.BadJSON(err)
		}
		if e, err = schema.ParseUIDMetaEdit(body); err != nil {
			return e, httpapi.BadJSON(err)
		}
		return e, nil
	}
	if e.UID, err = r.Required("uid"); err != nil {
		return e, err
	}
	kind, err := r.Required("type")
	if err != nil {
		return e, err
	}
	if e.Kind, err = storage.ParseNameKind(kind); err != nil {
		return e, query.SyntaxError{Err: err}
	}
	e.HasKind = true
	e.SetText("displayName", schema.TextOf(r.Last("display_name")))
	e.SetText("description", schema.TextOf(r.Last("description")))
	e.SetText("notes", schema.TextOf(r.Last("notes")))
	return e, nil
}

// whole returns what an edit lacks to name a document.
func whole(e *schema.UIDMetaEdit) error {
	switch {
	case e.UID == "":
		return errors.New("Missing UID")
	case !e.HasKind:
		return errors.New("Missing type")
	}
	return nil
}

func (a *API) editUIDMeta(w http.ResponseWriter, r *httpapi.Request, e *schema.UIDMetaEdit) error {
	if err := whole(e); err != nil {
		return httpapi.Illegal(err.Error())
	}
	if !e.Changes() {
		httpapi.Empty(w, http.StatusNotModified)
		return nil
	}
	uid, err := a.uidOf(e.Kind, e.UID)
	if err != nil {
		return httpapi.Illegal(err.Error())
	}
	if err := a.o.Metadata.EditUIDMeta(r.Context(), uid, e, r.Verb == http.MethodPut); err != nil {
		return lost(noUID(err, "Could not find the requested UID"), "UIDMeta")
	}
	return a.showUIDMeta(w, r, e.Kind, uid)
}

// deleteUIDMeta deletes a document, which need not be there.
func (a *API) deleteUIDMeta(w http.ResponseWriter, r *httpapi.Request, e *schema.UIDMetaEdit) error {
	err := whole(e)
	var uid []byte
	if err == nil {
		uid, err = parseUID(e.UID)
	}
	if err != nil {
		return httpapi.Error{Status: http.StatusBadRequest, Message: "Unable to delete UIDMeta information", Details: err.Error()}
	}
	if err := a.o.Metadata.DeleteUIDMeta(r.Context(), e.Kind, string(uid)); err != nil {
		return err
	}
	httpapi.Empty(w, http.StatusNoContent)
	return nil
}

// uidOf reads the UID of a kind.
func (a *API) uidOf(kind storage.NameKind, text string) (string, error) {
	uid, err := parseUID(text)
	if err != nil {
		return "", err
	}
	if width := a.o.Layout.Width(kind); len(uid) != width {
		return "", fmt.Errorf("Wrong id.length = %d which is != %d required for '%s'", len(uid), width, kind.Plural())
	}
	return string(uid), nil
}

// mostHex bounds the hexadecimal digits of a UID or TSUID.
const mostHex = 1 << 14

// parseUID reads hexadecimal digits of any case. Of an odd number the first is 0.
func parseUID(text string) ([]byte, error) {
	switch {
	case text == "":
		return nil, errors.New("UID was empty")
	case len(text) > mostHex:
		return nil, errors.New("UID is too long")
	case len(text)%2 > 0:
		text = "0" + text
	}
	uid, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("contains illegal character for hexBinary: %s", text)
	}
	return uid, nil
}
