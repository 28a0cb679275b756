// Package rejections keeps samples of the points that the listeners and endpoints rejected, for people who want to know
// what is wrong with what their clients send, and logs some of it. It rejects nothing itself.
package rejections

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
)

// The sources of points.
const (
	RemoteWrite    = "remote write"
	OTLP           = "otlp"
	ImportText     = "import text"
	Carbon         = "carbon"
	OpenTSDBTelnet = "opentsdb telnet"
	OpenTSDBHTTP   = "opentsdb http"
)

// A Sample is something that was refused.
type Sample struct {
	Time   time.Time `json:"time"`
	Source string    `json:"source"`           // one of the sources of points
	Door   string    `json:"door"`             // Source under its former name, until 0.2.0
	Client string    `json:"client,omitempty"` // its address, if it is known
	Reason string    `json:"reason"`
	Text   string    `json:"text,omitempty"` // the line or the series, shortened
	Points int       `json:"points"`         // how many were refused with it
}

// A Source has the count of what was rejected of a source of points since the start.
type Source struct {
	Source  string    `json:"source"`
	Door    string    `json:"door"`    // Source under its former name, until 0.2.0
	Refused int64     `json:"refused"` // points, or lines that are none
	Last    time.Time `json:"last"`
}

// What is kept: samples of each source, no more of them in a second than burst, and bytes of each text.
const (
	mostSamples = 100
	burst       = 20
	mostText    = 256
	// mostSources bounds the sources.
	mostSources = 16
	// logPause is how long the log omits further rejections of a source.
	logPause = 10 * time.Second
)

// A Log keeps the last samples of each source. It is safe for concurrent use. A nil Log keeps nothing.
type Log struct {
	logger *slog.Logger
	now    func() time.Time

	mu      sync.Mutex // guards all below
	sources map[string]*source
}

type source struct {
	Source

	samples    []Sample // the last one last
	second     int64    // in which kept were kept
	kept       int
	silent     time.Time // the log omits refusals until then
	suppressed int64     // since the last one that was logged
}

// New returns a log that keeps nothing yet.
func New(logger *slog.Logger, now func() time.Time) *Log {
	return &Log{logger: logger, now: now, sources: map[string]*source{}}
}

// Add counts points that were refused together, keeps a sample of them unless there were many in this second, and logs it
// unless one of the source was logged a short while ago. text is called for samples that are kept alone; nil: there is none.
func (l *Log) Add(ctx context.Context, at Sample, text func() string) {
	if kept, suppressed, log := l.add(ctx, at, text); log {
		l.logger.WarnContext(ctx, "points refused; /api/v1/status/refused shows more of them", "source", kept.Source, "client", kept.Client, "reason", kept.Reason, "text", kept.Text, "points", kept.Points, "suppressed", suppressed)
	}
}

type clientKey struct{}

// WithClient returns a context whose refusals are those of a client, unless they name one. client is called for samples that
// are kept alone.
func WithClient(ctx context.Context, client func() string) context.Context {
	return context.WithValue(ctx, clientKey{}, client)
}

func (l *Log) add(ctx context.Context, at Sample, text func() string) (kept Sample, suppressed int64, log bool) {
	if l == nil {
		return kept, 0, false
	}
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	d := l.sources[at.Source]
	if d == nil {
		if len(l.sources) == mostSources {
			return kept, 0, false
		}
		d = &source{Source: Source{Source: at.Source, Door: at.Source}}
		l.sources[at.Source] = d
	}
	d.Refused += int64(at.Points)
	d.Last = now.UTC()
	if second := now.Unix(); second != d.second {
		d.second, d.kept = second, 0
	}
	log = !now.Before(d.silent)
	if d.kept++; d.kept > burst && !log {
		d.suppressed += int64(at.Points)
		return kept, 0, false
	}
	if client, ok := ctx.Value(clientKey{}).(func() string); ok && at.Client == "" {
		at.Client = client()
	}
	at.Time, at.Door, at.Client, at.Reason = d.Last, at.Source, cut(at.Client), cut(at.Reason)
	if text != nil {
		at.Text = cut(text())
	}
	if d.samples = append(d.samples, at); len(d.samples) > mostSamples {
		d.samples = slices.Delete(d.samples, 0, len(d.samples)-mostSamples)
	}
	if !log {
		d.suppressed += int64(at.Points)
		return at, 0, false
	}
	suppressed, d.suppressed, d.silent = d.suppressed, 0, now.Add(logPause)
	return at, suppressed, true
}

// Sources returns the sources of which something was rejected, by their names.
func (l *Log) Sources() []Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make([]Source, 0, len(l.sources))
	for _, d := range l.sources {
		list = append(list, d.Source)
	}
	slices.SortFunc(list, func(a, b Source) int { return strings.Compare(a.Source, b.Source) })
	return list
}

// Samples returns the last samples of a source (empty: of all), at most so many, the last one first.
func (l *Log) Samples(of string, most int) []Sample {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := []Sample{}
	for name, d := range l.sources {
		if of == "" || of == name {
			list = append(list, d.samples...)
		}
	}
	slices.Reverse(list) // of one time the later one comes first
	slices.SortStableFunc(list, func(a, b Sample) int { return b.Time.Compare(a.Time) })
	return list[:min(len(list), most)]
}

// cut shortens a text, and lets go of the memory of a long one.
func cut(text string) string {
	if len(text) <= mostText {
		return strings.ToValidUTF8(strings.Clone(text), "\uFFFD")
	}
	return strings.ToValidUTF8(strings.Clone(text[:mostText]), "") + "…"
}
