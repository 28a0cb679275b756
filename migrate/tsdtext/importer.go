package tsdtext

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	tsdquery "github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// ImportOptions are what an Importer needs.
type ImportOptions struct {
	// Appender takes the points.
	Appender storage.Appender
	// Names and AutoCreate say which new names get UIDs, as for puts.
	Names      tsdquery.Dictionary
	AutoCreate put.AutoCreate
	// SeriesCache is how many series are found by their bytes.
	SeriesCache int
	// Histograms takes histograms, if HistogramCodecs (--opentsdb.histogram-codecs) has a codec.
	Histograms      put.HistogramStore
	HistogramCodecs string
	// Annotations takes annotations, and TSUIDOf tells of which series they are.
	Annotations NotePutter
	TSUIDOf     func(ref storage.Ref) []byte
	// Rollups takes rolled up values; nil: there are no tables for them. RollupTag is --opentsdb.rollup-tag.
	Rollups   put.Rollups
	RollupTag string
	// SpecialChars is --opentsdb.allow-special-chars.
	SpecialChars string
}

// names are the rules of names.
func (o *ImportOptions) names() putline.NameRules {
	return putline.NameRules{MaxTags: storage.MaxTags, SpecialChars: o.SpecialChars}
}

// An Importer stores lines of OpenTSDB's import text: "metric timestamp value tag=value ...", with
// "put " before it or not. It takes what a put takes, and in addition what an Exporter writes of what a
// store may have: values that are no numbers, timestamps with millisSuffix, and any number of tags. Text is UTF-8; a series whose bytes are not is
// taken as Latin-1. Lines of histograms, rolled up values and annotations are those that an Exporter writes. It is safe for
// concurrent use.
type Importer struct {
	o       ImportOptions
	in      *ingest.Ingest
	codecs  put.Codecs
	rollups *put.RollupStore
}

// NewImporter returns an Importer. The codecs of its options must have been checked.
func NewImporter(o ImportOptions) *Importer {
	o.Appender = o.AutoCreate.Limit(o.Appender, o.Names)
	codecs, _ := put.ParseCodecs(o.HistogramCodecs)
	return &Importer{
		o: o, in: ingest.New(ingest.Options{Appender: o.Appender, CacheEntries: o.SeriesCache, Forms: true}), codecs: codecs,
		rollups: put.NewExportedRollups(o.RollupTag, o.Rollups, o.Appender, o.names()),
	}
}

// importShare is how many bytes of lines are worth a goroutine, and longestImport how long a line may
// be.
const (
	importShare   = 128 << 10
	longestImport = 128 << 10
)

// Store implements pipeline.Store. The lines are parsed on all cores, and their points appended in
// order. A line that is refused only by the store may end the block a little late.
func (i *Importer) Store(ctx context.Context, block []byte, skip bool) (pipeline.Stored, error) {
	parts := i.parse(block, skip)
	defer func() {
		for _, p := range parts {
			p.job.Release()
		}
	}()
	var all pipeline.Stored
	for _, p := range parts {
		stored, err := p.store(ctx, skip)
		all.Add(stored)
		if err != nil || !skip && stored.Bad > 0 {
			return all, err
		}
	}
	return all, nil
}

// parse parses a block in parts.
func (i *Importer) parse(block []byte, skip bool) []*importPart {
	cut := cutLines(block, query.Shares(len(block), importShare))
	parts := make([]*importPart, len(cut))
	query.Split(len(cut), len(cut), func(n, _, _ int) {
		parts[n] = &importPart{to: i, text: cut[n], job: i.in.Job()}
		parts[n].parse(skip)
	})
	return parts
}

// cutLines cuts a block into so many parts of whole lines, or fewer.
func cutLines(block []byte, n int) (parts [][]byte) {
	for ; n > 1 && len(block) > 0; n-- {
		at := len(block) / n
		end := bytes.IndexByte(block[at:], '\n')
		if end < 0 {
			break
		}
		parts, block = append(parts, block[:at+end+1]), block[at+end+1:]
	}
	return append(parts, block)
}

// An importPart is some of the lines of a block.
type importPart struct {
	to         *Importer
	text       []byte
	job        *ingest.Job
	stored     pipeline.Stored
	histograms put.Histograms
	rolled     importRollups
	notes      []importNote
}

// parse adds the points of the lines to the job. Unless it is to skip bad lines, it ends at one.
func (p *importPart) parse(skip bool) {
	p.job.Begin()
	defer p.job.End()
	for rest := p.text; len(rest) > 0 && (skip || p.stored.Bad == 0); {
		n := bytes.IndexByte(rest, '\n') + 1
		if n == 0 {
			n = len(rest)
		}
		line := rest[:n]
		rest = rest[n:]
		p.stored.Lines++
		p.stored.Bytes += n
		if key, value, n := putline.PlainPoint(line, 0, longestImport); n > 0 {
			p.add(key, value)
		} else {
			p.line(bytes.TrimSuffix(bytes.TrimSuffix(line, newline), carriageReturn))
		}
	}
}

var newline, carriageReturn = []byte{'\n'}, []byte{'\r'}

// line adds the point of a line that is not of the usual form.
func (p *importPart) line(line []byte) {
	if len(line) == 0 {
		return
	}
	if len(line) > longestImport {
		p.stored.Refuse(p.stored.Lines, line, fmt.Sprintf("line of more than %d bytes", longestImport))
		return
	}
	from := 0
	if bytes.HasPrefix(line, []byte(putline.PutWord)) {
		from = len(putline.PutWord)
	}
	if key, value, ok := putline.ScanPoint(line, from); ok {
		p.add(key, value)
		return
	}
	words := strings.Split(importText(line), " ")
	s, value, err := importWords(words[min(from, 1):], p.to.o.names())
	if err != nil && from > 0 { // the metric is named put, perhaps
		if s2, value2, err2 := importWords(words, p.to.o.names()); err2 == nil {
			s, value, err = s2, value2, nil
		}
	}
	switch object, is := p.object(words[0]); {
	case err == nil:
		p.addSeries(s, value)
	case is:
		if err := object(words[1:]); err != nil {
			p.stored.Refuse(p.stored.Lines, line, err.Error())
		}
	default:
		p.stored.Refuse(p.stored.Lines, line, err.Error())
	}
}

// importText returns the characters of a line.
func importText(line []byte) string {
	if utf8.Valid(line) {
		return string(line)
	}
	return putline.Latin1(line)
}

// importWords reads the words of a line from the metric on.
func importWords(words []string, rules putline.NameRules) (s storage.Series, p putline.Point, err error) {
	words = slices.Clone(words)
	var special putline.Number
	var at putline.Stamp
	var isSpecial, isMillis bool
	if len(words) > 2 {
		if at, isMillis = putline.ParseMillis(words[1]); isMillis {
			words[1] = "1"
		}
		if special, isSpecial = parseSpecial(words[2]); isSpecial {
			words[2] = "0"
		}
	}
	s, p, err = putline.ExplainWords(words, rules)
	if isSpecial {
		p.Number = special
	}
	if isMillis {
		p.Stamp = at
	}
	return s, p, err
}

// add adds a point of a series with a key.
func (p *importPart) add(key []byte, value putline.Point) {
	ref := p.job.Find(key)
	if ref == 0 {
		if err := p.job.Missing(key, p.stored.Lines, p.to.series); err != nil {
			p.stored.Refuse(p.stored.Lines, key, err.Error())
			return
		}
	}
	putline.AddPoint(p.job.Batch, ref, value, storage.FormFloat)
}

// addSeries adds a point of a series that a line spells in another way.
func (p *importPart) addSeries(s storage.Series, value putline.Point) {
	var key strings.Builder
	key.WriteString(s.Metric)
	for _, tag := range s.Tags {
		key.WriteString(" " + tag.Key + "=" + tag.Value)
	}
	p.add([]byte(key.String()), value)
}

// series returns the series of a key.
func (i *Importer) series(key string) (storage.Series, error) {
	return putline.TextSeries(importText([]byte(key)), i.o.names())
}

// store stores the job and counts what became of it.
func (p *importPart) store(ctx context.Context, skip bool) (pipeline.Stored, error) {
	err := p.to.in.Store(ctx, p.job)
	if err == nil {
		err = p.storeObjects(ctx)
	}
	switch {
	case err != nil && storage.IsRefusal(err):
		return pipeline.Stored{}, pipeline.FinalError{Err: err}
	case err != nil:
		return pipeline.Stored{}, err
	}
	p.job.EachRefusedPoint(func(line int, key string, err error) { p.stored.Refuse(line, []byte(key), err.Error()) })
	p.stored.Points += len(p.job.Batch.Refs)
	if !skip && p.stored.Bad > 0 {
		p.endBefore()
	}
	return p.stored, nil
}

// endBefore takes the first bad line, and what follows it, out of what counts as read.
func (p *importPart) endBefore() {
	bad := p.stored.Shown[0]
	for _, b := range p.stored.Shown {
		if b.Line < bad.Line {
			bad = b
		}
	}
	p.stored.Shown, p.stored.Bad = []pipeline.BadLine{bad}, 1
	p.stored.Bytes, p.stored.Lines = 0, bad.Line-1
	for range p.stored.Lines {
		p.stored.Bytes += bytes.IndexByte(p.text[p.stored.Bytes:], '\n') + 1
	}
}

// notANumber is how a NaN of unusual bits is written, before its bits.
const notANumber = "NaN:"

// parseSpecial reads a value that is no number, which a TSD does not take.
func parseSpecial(word string) (n putline.Number, ok bool) {
	if digits, found := strings.CutPrefix(word, notANumber); found {
		bits, err := strconv.ParseUint(digits, 16, 64)
		return putline.Number{Bits: bits}, err == nil && math.IsNaN(math.Float64frombits(bits))
	}
	switch word {
	case "NaN":
		return putline.FloatNumber(math.NaN()), true
	case "Infinity", "+Infinity":
		return putline.FloatNumber(math.Inf(1)), true
	case "-Infinity":
		return putline.FloatNumber(math.Inf(-1)), true
	}
	return putline.Number{}, false
}
