package tsdtext

import (
	"context"
	"encoding/base64"
	"strconv"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// objectsLength is about how long the lines of histograms and annotations of a series are.
func (w *exportWorker) objectsLength(p *storage.Points) (n int) {
	for _, o := range p.Objects {
		if o.Kind == storage.KindCoded && w.histograms {
			n += 2*len(o.Data) + maxPointText
		}
	}
	for _, document := range p.Annotations {
		n += len(document) + maxPointText
	}
	return n
}

// addObjects writes the histograms and annotations of a series, and counts what is not written. unnamed
// says why the series has no lines, if it has none.
func (w *exportWorker) addObjects(ctx context.Context, p *storage.Points, s storage.Series, unnamed error) error {
	native, coded := 0, 0
	for _, o := range p.Objects {
		if err := w.flushFull(ctx); err != nil {
			return err
		}
		switch {
		case o.Kind == storage.KindHistogram:
			native++
		case o.Kind != storage.KindCoded:
		case w.histograms && unnamed == nil && len(o.Data) > 0:
			w.block.Text = w.line.appendHistogram(w.block.Text, o.Time, o.Data)
			w.block.Points++
		default:
			coded++
		}
	}
	w.leaveOut(native, s, "native histograms have no text")
	w.leaveOut(coded, s, "histograms are not written without --with=histograms")
	notes := 0
	for _, document := range p.Annotations {
		if err := w.flushFull(ctx); err != nil {
			return err
		}
		note, err := schema.ParseAnnotation(document)
		if at := schema.MillisOf(note.Start); err != nil || at < w.from || at > w.to {
			continue // no reader sees it, or it is of another window
		}
		if unnamed != nil {
			notes++
			continue
		}
		w.block.Text = w.line.appendNote(w.block.Text, note)
		w.block.Points++
	}
	if unnamed != nil {
		w.leaveOut(notes, s, unnamed.Error())
	}
	return nil
}

// flushFull gives a block that is large enough, when it is the part's turn.
func (w *exportWorker) flushFull(ctx context.Context) error {
	if !w.later || len(w.block.Text) < givenText {
		return nil
	}
	return w.flush(ctx)
}

// appendHistogram appends the line of a histogram of OpenTSDB: its codec, and what that made.
func (l *exportLine) appendHistogram(b []byte, at int64, value []byte) []byte {
	b = append(append(append(b, histogramWord...), ' '), l.before...)
	b = append(appendStamp(b, at), ' ')
	b = append(strconv.AppendUint(b, uint64(value[0]), 10), ' ')
	b = base64.StdEncoding.AppendEncode(b, value[1:])
	return append(b, l.after...)
}

// appendNote appends the line of an annotation of the series: the TSUID stands for the names, which are
// others elsewhere.
func (l *exportLine) appendNote(b []byte, note storage.Annotation) []byte {
	b = append(append(append(b, annotationWord...), ' '), l.before[:len(l.before)-1]...)
	b = append(b, l.after[:len(l.after)-1]...)
	return appendDocument(b, note)
}

// appendDocument appends an annotation without its series.
func appendDocument(b []byte, note storage.Annotation) []byte {
	note.TSUID = ""
	return append(schema.AppendAnnotation(append(b, ' '), note), '\n')
}

// readGlobal gives the global annotations of a range.
func (x *Exporter) readGlobal(ctx context.Context, r pipeline.Range, give func(pipeline.Block) error) error {
	const length = rangeHours * hourMillis
	for r.From <= r.To {
		end := min(r.To, r.From/length*length+length-1)
		if err := x.readNotes(ctx, r.From, end, give); err != nil {
			return err
		}
		if err := give(pipeline.Block{Until: end + 1}); err != nil {
			return err
		}
		r.From = end + 1
	}
	return nil
}

func (x *Exporter) readNotes(ctx context.Context, from, to int64, give func(pipeline.Block) error) error {
	account := x.o.Budget.Open()
	defer account.Close()
	notes, err := x.o.Annotations.List(query.WithAccount(ctx, account), storage.AnnotationRange{From: from, To: to}, 0)
	if err != nil || len(notes) == 0 {
		return err
	}
	block := pipeline.Block{Points: int64(len(notes))}
	for _, note := range notes {
		block.Text = appendDocument(append(block.Text, annotationWord...), note)
	}
	return give(block)
}
