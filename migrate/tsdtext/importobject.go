package tsdtext

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The words that begin lines of what is no point: "histogram metric timestamp codec value tag=value ...",
// "rollup interval-aggregation:group metric timestamp value tag=value ...", as telnet has them, and
// "annotation metric tag=value ... {document}", without a series for a global one.
const (
	rollupWord     = "rollup"
	histogramWord  = "histogram"
	annotationWord = "annotation"
)

// A NotePutter stores annotations.
type NotePutter interface {
	Put(ctx context.Context, mode storage.AnnotationMode, list []storage.Annotation) ([]storage.Annotation, error)
}

// An importNote is an annotation of a line.
type importNote struct {
	series storage.Series // no metric: it is global
	note   storage.Annotation
	line   int
}

// notesAtOnce is how many annotations are stored at once.
const notesAtOnce = 1024

// object returns what takes the words behind the first one of a line that is of no point.
func (p *importPart) object(word string) (take func(words []string) error, ok bool) {
	switch word {
	case histogramWord:
		return p.addHistogram, true
	case rollupWord:
		return p.addRollup, true
	case annotationWord:
		return p.addNote, true
	}
	return nil, false
}

// addHistogram adds the histogram of a line.
func (p *importPart) addHistogram(words []string) error {
	if p.to.o.Histograms == nil || !p.to.codecs.Any() {
		return errors.New("histograms are taken with --opentsdb.histogram-codecs")
	}
	var millis putline.Stamp
	var isMillis bool
	if len(words) > 1 {
		if millis, isMillis = putline.ParseMillis(words[1]); isMillis {
			words[1] = "1"
		}
	}
	s, at, value, err := p.to.codecs.ParseLine(words, p.to.o.names())
	if err != nil {
		return err
	}
	if isMillis {
		at = millis
	}
	p.histograms.Add(s, at, value, p.stored.Lines)
	return nil
}

// addNote adds the annotation of a line.
func (p *importPart) addNote(words []string) error {
	if p.to.o.Annotations == nil {
		return errors.New("annotations are not taken")
	}
	text := strings.Join(words, " ")
	before := strings.IndexByte(text, '{') // no name has one
	if before < 0 {
		return errors.New("annotation without its document: want annotation metric tag=value ... {\"startTime\":...}")
	}
	note, err := schema.ParseAnnotation([]byte(text[before:]))
	if err != nil {
		return err
	}
	n := importNote{note: note, line: p.stored.Lines}
	if name := strings.Fields(text[:before]); len(name) > 0 {
		tags, err := putline.ParseTags(name[1:])
		if err == nil {
			err = putline.CheckNames(name[0], tags, p.to.o.names())
		}
		if err != nil {
			return err
		}
		n.series = putline.Series(name[0], tags)
	}
	n.note.TSUID = ""
	p.notes = append(p.notes, n)
	return nil
}

// storeObjects stores the histograms, rolled up values and annotations, and refuses those that the store does not take.
func (p *importPart) storeObjects(ctx context.Context) error {
	refused := 0
	refuse := func(line int, err error) {
		refused++
		p.stored.Refuse(line, nil, err.Error())
	}
	if err := p.histograms.Store(ctx, p.to.o.Appender, p.to.o.Histograms, refuse); err != nil {
		return err
	}
	if err := p.storeRollups(ctx, refuse); err != nil {
		return err
	}
	for from := 0; from < len(p.notes); from += notesAtOnce {
		if err := p.storeNotes(ctx, p.notes[from:min(from+notesAtOnce, len(p.notes))], refuse); err != nil {
			return err
		}
	}
	p.stored.Points = p.histograms.Len() + len(p.rolled.values) + len(p.notes) - refused
	return nil
}

// storeNotes stores some annotations: one by one, if the store refuses any.
func (p *importPart) storeNotes(ctx context.Context, notes []importNote, refuse func(line int, err error)) error {
	put := make([]storage.Annotation, 0, len(notes))
	lines := make([]int, 0, len(notes))
	var names []storage.Series
	for i := range notes {
		if notes[i].series.Metric != "" {
			names = append(names, notes[i].series)
		}
	}
	refs, errs := p.to.o.Appender.Resolve(ctx, names)
	for i, at := 0, 0; i < len(notes); i++ {
		n := &notes[i]
		if n.note.TSUID = ""; n.series.Metric != "" {
			if errs != nil && errs[at] != nil {
				if !storage.IsRefusal(errs[at]) {
					return errs[at]
				}
				refuse(n.line, errs[at])
				at++
				continue
			}
			n.note.TSUID = schema.FormatTSUID(p.to.o.TSUIDOf(refs[at]))
			at++
		}
		put, lines = append(put, n.note), append(lines, n.line)
	}
	_, err := p.to.o.Annotations.Put(ctx, storage.ReplaceAnnotation, put)
	if err == nil || !storage.IsRefusal(err) {
		return err
	}
	for i := range put {
		if _, err := p.to.o.Annotations.Put(ctx, storage.ReplaceAnnotation, put[i:i+1]); err != nil {
			if !storage.IsRefusal(err) {
				return err
			}
			refuse(lines[i], fmt.Errorf("annotation: %w", err))
		}
	}
	return nil
}
