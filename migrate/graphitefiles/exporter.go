package graphitefiles

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
)

// An ExportQuery is what is exported as whisper files.
type ExportQuery struct {
	// Match are patterns of names, as targets have them; none: all series.
	Match []string `json:"match,omitempty"`
	// Retentions are those of series without archives, as storage-schemas.conf has them; empty: their own step for a
	// year.
	Retentions string `json:"retentions,omitempty"`
	// Named names the files of series with tags by their names, and not by hashes.
	Named bool `json:"named,omitempty"`
	// After is where an earlier export ended; the first file is the one behind it.
	After pipeline.FilePlace `json:"after"`
}

// Validate returns what cannot work.
func (q *ExportQuery) Validate() error {
	if q.Retentions == "" {
		return nil
	}
	_, err := conf.ParseRetentions(q.Retentions)
	return err
}

// An Exported is a whisper file. Without Data it could not be made, for a Reason.
type Exported struct {
	At     pipeline.FilePlace
	Nth    int // of Of series of this part that were asked for, from 0
	Of     int
	Parts  int
	Path   string // with slashes
	Data   []byte
	Points int64
	Reason string
}

// allTagged finds all series with tags.
var allTagged = []string{"name=~."}

// An Exporter makes whisper files of series.
type Exporter struct {
	Sources  *source.Sources
	Prepared <-chan struct{} // closed when the trees are known
	Now      func() time.Time
}

// Export calls use with a file for each series.
func (x *Exporter) Export(ctx context.Context, q ExportQuery, use func(*Exported) error) error {
	select {
	case <-x.Prepared:
	case <-ctx.Done():
		return ctx.Err()
	}
	var fallback []conf.Archive
	if q.Retentions != "" {
		var err error
		if fallback, err = conf.ParseRetentions(q.Retentions); err != nil {
			return err
		}
	}
	now := x.Now().Unix()
	base := eval.Fetch{Until: now, Now: now}
	var fetches []eval.Fetch
	for _, pattern := range q.Match {
		one := base
		one.Pattern = pattern
		fetches = append(fetches, one)
	}
	if len(q.Match) == 0 {
		plain, tagged := base, base
		plain.Pattern, tagged.Tags = "**", allTagged
		fetches = append(fetches, plain, tagged)
	}
	seen := map[string]bool{}
	for part, f := range fetches {
		skip := func(name string) bool {
			again := seen[name]
			if len(q.Match) > 1 {
				seen[name] = true
			}
			return again || pipeline.FilePlace{Part: part, Name: name}.Reached(q.After)
		}
		err := x.Sources.Open().Export(ctx, f, fallback, skip, func(e *source.Exported) error {
			file := fileOf(e, !q.Named)
			file.At, file.Nth, file.Of, file.Parts = pipeline.FilePlace{Part: part, Name: e.Name}, e.Nth, e.Of, len(fetches)
			return use(file)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

var errNoPath = errors.New("no file can have this name")

// fileOf makes the file of a series.
func fileOf(e *source.Exported, hashed bool) *Exported {
	path, ok := whisper.PathOf(e.Name, hashed)
	if !ok {
		return &Exported{Path: e.Name, Reason: errNoPath.Error()}
	}
	f := &Exported{Path: path}
	archives := make([]whisper.Points, len(e.Levels))
	for i, level := range e.Levels {
		p := &archives[i]
		for n, v := range level.Values {
			if t := level.Start + int64(n)*e.Archives[i].Step; t > 0 && !python.IsNone(v) {
				p.Times, p.Values = append(p.Times, t), append(p.Values, v)
			}
		}
		f.Points += int64(len(p.Times))
	}
	method := e.Aggregation.Method
	if method == "avg" { // as other implementations of carbon write it
		method = "average"
	}
	var err error
	h := whisper.Header{Method: method, XFF: e.Aggregation.XFF, Archives: e.Archives}
	if f.Data, err = whisper.Encode(h, archives); err != nil {
		f.Reason = fmt.Sprint(err)
	}
	return f
}
