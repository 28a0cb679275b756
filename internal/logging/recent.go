// Package logging has handlers for log/slog: one limits how often a message is repeated, one keeps the last warnings
// and errors in memory for people who look at the process and not at its log. It writes no log itself.
package logging

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// A Record is a line of the log.
type Record struct {
	Time    time.Time `json:"time"`
	Level   string    `json:"level"` // WARN or ERROR
	Message string    `json:"message"`
	Fields  []Field   `json:"fields"` // in the order of the log
}

// A Field is what a line tells besides its message.
type Field struct {
	Key   string `json:"key"` // keys of groups come before it, with dots
	Value string `json:"value"`
}

// What is kept of a record: fields, and bytes of each text.
const (
	mostFields = 30
	mostText   = 1000
)

// Recent holds the last records. It is safe for concurrent use.
type Recent struct {
	most int

	mu      sync.Mutex // guards what follows
	records []Record   // the last one last
}

// WatchRecent returns a handler that hands all records on to another one, and a log of the last warnings and errors of these,
// which are kept even if the other one leaves them out.
func WatchRecent(next slog.Handler, most int) (*Recent, slog.Handler) {
	l := &Recent{most: most}
	return l, &recentHandler{log: l, next: next}
}

// Records returns the last records, the last one first.
func (l *Recent) Records() []Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := append([]Record{}, l.records...)
	slices.Reverse(list)
	return list
}

func (l *Recent) add(r Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.records = append(l.records, r); len(l.records) > l.most {
		l.records = slices.Delete(l.records, 0, len(l.records)-l.most)
	}
}

// recentHandler is a slog.Handler.
type recentHandler struct {
	log    *Recent
	next   slog.Handler
	fields []Field // of With
	prefix string  // of groups
}

// Enabled implements slog.Handler.
func (h *recentHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn || h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *recentHandler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		kept := Record{Time: r.Time.UTC(), Level: r.Level.String(), Message: cut(r.Message), Fields: slices.Clone(h.fields)}
		r.Attrs(func(a slog.Attr) bool {
			kept.Fields = appendField(kept.Fields, h.prefix, a)
			return true
		})
		if kept.Fields == nil {
			kept.Fields = []Field{}
		}
		h.log.add(kept)
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *recentHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	with := *h
	with.next, with.fields = h.next.WithAttrs(attrs), slices.Clone(h.fields)
	for _, a := range attrs {
		with.fields = appendField(with.fields, h.prefix, a)
	}
	return &with
}

// WithGroup implements slog.Handler.
func (h *recentHandler) WithGroup(name string) slog.Handler {
	with := *h
	if with.next = h.next.WithGroup(name); name != "" {
		with.prefix += name + "."
	}
	return &with
}

func appendField(fields []Field, prefix string, a slog.Attr) []Field {
	v := a.Value.Resolve()
	switch {
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, one := range v.Group() {
			fields = appendField(fields, prefix, one)
		}
		return fields
	case a.Key == "" || len(fields) >= mostFields:
		return fields
	}
	return append(fields, Field{cut(prefix + a.Key), cut(v.String())})
}

func cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= mostText {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:mostText]), "") + "…"
}
