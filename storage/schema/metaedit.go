package schema

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// metaType is the type in the UIDMeta of a kind.
func metaType(k storage.NameKind) string { return strings.ToUpper(k.String()) }

// A UIDMetaEdit is what a client sends to change a UIDMeta: the fields that differ from those of an
// empty document. What is empty cannot be told from what was not sent, but for null, which empties a
// text.
type UIDMetaEdit struct {
	UID     string // as it was sent
	Kind    storage.NameKind
	HasKind bool
	set     []func(*UIDMeta)
}

// ParseUIDMetaEdit reads an edit as Jackson does. Fields that it does not know are left out.
func ParseUIDMetaEdit(b []byte) (UIDMetaEdit, error) {
	f := fieldsOf(parseMembers(b))
	e := UIDMetaEdit{UID: f.scalar("uid")}
	if kind := f.scalar("type"); kind != "" {
		var err error
		e.Kind, err = storage.ParseNameKind(kind)
		e.HasKind = true
		f.fail("type", err)
	}
	for name, of := range uidTexts() {
		e.setText(f.text(name), of)
	}
	if custom := f.custom(); custom != nil {
		e.set = append(e.set, func(m *UIDMeta) { m.Custom = custom })
	}
	if created := f.long("created"); created != 0 {
		e.set = append(e.set, func(m *UIDMeta) { m.Created = earlier(m.Created, created) })
	}
	return e, f.err
}

// A Text is a text of an edit, if it was sent and is not empty, or is null.
type Text struct {
	Text string
	Sent bool
}

// TextOf returns a text that was sent.
func TextOf(s string) Text { return Text{s, s != ""} }

func (f *fields) text(name string) Text {
	return Text{f.scalar(name), string(f.members[name]) == "null" || f.scalar(name) != ""}
}

// earlier returns the time that stays of the stored one and of one that was sent.
func earlier(stored, sent int64) int64 {
	if stored > 0 && stored < sent {
		return stored
	}
	return sent
}

// uidTexts are the texts of a UIDMeta by their names in JSON.
func uidTexts() map[string]func(*UIDMeta) *string {
	return map[string]func(*UIDMeta) *string{
		"displayName": func(m *UIDMeta) *string { return &m.DisplayName },
		"description": func(m *UIDMeta) *string { return &m.Description },
		"notes":       func(m *UIDMeta) *string { return &m.Notes },
	}
}

// SetText changes a text, by its name in JSON, if it was sent.
func (e *UIDMetaEdit) SetText(name string, t Text) { e.setText(t, uidTexts()[name]) }

func (e *UIDMetaEdit) setText(t Text, of func(*UIDMeta) *string) {
	if t.Sent {
		e.set = append(e.set, func(m *UIDMeta) { *of(m) = t.Text })
	}
}

// Changes reports whether anything is to be changed.
func (e *UIDMetaEdit) Changes() bool { return len(e.set) > 0 }

// Apply returns a document after the edit. If it replaces, what was not sent becomes empty.
func (e *UIDMetaEdit) Apply(stored UIDMeta, replace bool) UIDMeta {
	m := stored
	if replace {
		m = UIDMeta{Created: stored.Created, Unknown: stored.Unknown}
	}
	m.Type = metaType(e.Kind)
	for _, set := range e.set {
		set(&m)
	}
	return m
}

// A TSMetaEdit is a UIDMetaEdit for a TSMeta.
type TSMetaEdit struct {
	TSUID string // as it was sent
	set   []func(*TSMeta)
}

// ParseTSMetaEdit reads an edit as Jackson does. Fields that it does not know are left out.
func ParseTSMetaEdit(b []byte) (TSMetaEdit, error) {
	f := fieldsOf(parseMembers(b))
	e := TSMetaEdit{TSUID: f.scalar("tsuid")}
	for name, of := range seriesTexts() {
		e.setText(f.text(name), of)
	}
	if custom := f.custom(); custom != nil {
		e.set = append(e.set, func(m *TSMeta) { m.Custom = custom })
	}
	if created := f.long("created"); created != 0 {
		e.set = append(e.set, func(m *TSMeta) { m.Created = earlier(m.Created, created) })
	}
	if retention := f.int("retention"); retention != 0 {
		e.SetRetention(retention)
	}
	if _, sent := f.members["max"]; sent {
		e.SetMax(f.double("max"))
	}
	if _, sent := f.members["min"]; sent {
		e.SetMin(f.double("min"))
	}
	return e, f.err
}

// seriesTexts are the texts of a TSMeta by their names in JSON.
func seriesTexts() map[string]func(*TSMeta) *string {
	return map[string]func(*TSMeta) *string{
		"displayName": func(m *TSMeta) *string { return &m.DisplayName },
		"description": func(m *TSMeta) *string { return &m.Description },
		"notes":       func(m *TSMeta) *string { return &m.Notes },
		"units":       func(m *TSMeta) *string { return &m.Units },
		"dataType":    func(m *TSMeta) *string { return &m.DataType },
	}
}

func (e *TSMetaEdit) setText(t Text, of func(*TSMeta) *string) {
	if t.Sent {
		e.set = append(e.set, func(m *TSMeta) { *of(m) = t.Text })
	}
}

// SetText changes a text, by its name in JSON, if it was sent.
func (e *TSMetaEdit) SetText(name string, t Text) { e.setText(t, seriesTexts()[name]) }

// SetRetention changes the retention.
func (e *TSMetaEdit) SetRetention(days int) {
	e.set = append(e.set, func(m *TSMeta) { m.Retention = days })
}

// SetMax changes the greatest value.
func (e *TSMetaEdit) SetMax(f float64) { e.set = append(e.set, func(m *TSMeta) { m.Max = f }) }

// SetMin changes the smallest value.
func (e *TSMetaEdit) SetMin(f float64) { e.set = append(e.set, func(m *TSMeta) { m.Min = f }) }

// Changes reports whether anything is to be changed.
func (e *TSMetaEdit) Changes() bool { return len(e.set) > 0 }

// Apply returns a document after the edit. If it replaces, what was not sent becomes empty.
func (e *TSMetaEdit) Apply(stored TSMeta, replace bool) TSMeta {
	m := stored
	if replace {
		m = NewTSMeta(nil, stored.Created)
		m.TSUID, m.Unknown = stored.TSUID, stored.Unknown
	}
	for _, set := range e.set {
		set(&m)
	}
	return m
}
