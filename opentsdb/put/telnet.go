package put

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Telnet answers the lines of one connection. A put is answered only when something is wrong with
// it.
type Telnet struct {
	Puts *Store
	// About answers the commands version and stats.
	About interface {
		Version() string
		AppendStats(b []byte) []byte
	}
	job job
	// histograms are those of this run of lines.
	histograms Histograms
	Answer     []byte // Latin-1
	pipeline   netserver.Pipeline
	Turn       *query.Turn // to parse
	Client     string      // its address
	// Late answers points that the store refused while more was read. It is called by the pipeline.
	Late    func(answer string)
	rolled  []LineRollup
	Lines   int  // of this run, points or not
	Bad     int  // of them, points that were refused
	Strange int  // of them, words that are not commands
	Foreign bool // a line of them belongs to HTTP
}

// Take stores the points of lines, and returns false when one of the lines was exit. It overwrites
// the lines.
func (t *Telnet) Take(ctx context.Context, l *netserver.Lines, d *Delivery) (open bool) {
	_ = t.Turn.Resume(ctx) // When the process stops, what was read is parsed without a turn.
	open = t.parse(l)
	t.Turn.Pause()
	if len(t.rolled) > 0 {
		t.pipeline.Wait()
		t.storeRollups(ctx, d)
	}
	j := t.job
	// The store's refusals of new series are answered before more is read.
	if open && len(t.Answer) == 0 && len(t.histograms.list) == 0 && j.NewSeries() == 0 && len(j.Batch.Refs) >= netserver.PipelinePoints {
		t.pipeline.Begin(func() {
			d.write(ctx, j, func(series string, points int, err error) {
				t.keepStored([]byte(series), points, err)
				t.Late(refusalText(err))
			})
			j.Release()
		})
		return true
	}
	t.pipeline.Wait()
	d.write(ctx, j, func(series string, points int, err error) {
		t.keepStored([]byte(series), points, err)
		t.refused(err)
	})
	d.writeHistograms(ctx, j, &t.histograms, func(s storage.Series, points int, err error) {
		t.keepStored(seriesKey(s), points, err)
		t.refusedHistogram(storeError{err})
	})
	j.Release()
	return open
}

// Wait returns when the points of former runs are stored, or refused.
func (t *Telnet) Wait() { t.pipeline.Wait() }

// parse executes lines, except that it puts their points into the job and does not store them.
func (t *Telnet) parse(l *netserver.Lines) (open bool) {
	t.job = t.Puts.job(&t.Puts.telnet)
	t.histograms.reset()
	t.job.Begin()
	defer t.job.End()
	open = true
	for open {
		t.plain(l)
		line, tooLong, ok := l.Next()
		if !ok {
			break
		}
		t.Lines++
		if tooLong && netserver.IsRequestBegin(line) {
			t.request(line)
			return false
		}
		if tooLong {
			t.tooLong(l.Longest)
			continue
		}
		open = t.line(line)
	}
	return open
}

// plain adds the points of the first lines, up to the first line of an unusual form.
func (t *Telnet) plain(l *netserver.Lines) {
	for !t.Puts.o.ReadOnly {
		key, p, n := plainPut(l.Rest(), l.Longest)
		if n == 0 {
			return
		}
		l.Skip(n)
		t.Lines++
		if ref := t.job.Find(key); ref != 0 && p.Time <= t.job.Latest {
			t.job.add(ref, p)
		} else if err := t.unknown(key, p); err != nil {
			t.job.Refused++
			t.keepLine(key, err)
			t.refused(err)
		}
	}
}

// keepLine keeps a line that was refused, or the series of it.
func (t *Telnet) keepLine(line []byte, err error) { t.keepStored(line, 1, err) }

// keepStored keeps the series, as it was sent, of points that the store refused.
func (t *Telnet) keepStored(line []byte, points int, err error) {
	t.Puts.o.Refused.Add(context.Background(), rejections.Sample{Source: rejections.OpenTSDBTelnet, Client: t.Client, Reason: err.Error(), Points: points}, func() string {
		return putline.Latin1(line[:min(len(line), maxKept)])
	})
}

// maxKept is how many bytes of a refused line are kept at most.
const maxKept = 1 << 10

func (t *Telnet) unknown(key []byte, p putline.Point) error {
	return t.job.addUnknown(key, p, t.Lines, func(string) (storage.Series, error) { return putline.TextSeries(putline.Latin1(key), t.Puts.o.names()) })
}

// line executes a line. It returns false when the connection is to be closed.
func (t *Telnet) line(line []byte) (open bool) {
	if netserver.IsRequestHead(line) {
		t.request(line)
		return false
	}
	if bytes.HasPrefix(line, []byte(putline.PutWord)) && !t.Puts.o.ReadOnly {
		t.put(line)
		return true
	}
	word, _, _ := strings.Cut(putline.Latin1(line), " ")
	if t.Puts.o.ReadOnly && slices.Contains([]string{"put", "rollup", "histogram"}, word) {
		t.unknownCommand(word)
		return true
	}
	switch word {
	case "put":
		t.put(line)
	case "exit":
		return false
	case "help":
		t.say("available commands: stats dropcaches version exit help put rollup histogram")
	case "version":
		t.say(t.About.Version())
	case "stats":
		if len(t.Answer) < maxAnswer {
			t.Answer = t.About.AppendStats(t.Answer)
		}
	case "dropcaches":
		t.Puts.DropAsked()
		t.say("Caches dropped.")
	case "rollup":
		t.rollup(line)
	case "histogram":
		t.histogram(line)
	default:
		t.unknownCommand(word)
	}
	return true
}

// errRequest is about a line of HTTP in telnet.
const errRequest = putline.ArgumentError("a line of an HTTP request ends the connection: a page of the web may have sent it")

// request refuses a line of the head of an HTTP request: what follows is not meant for telnet.
func (t *Telnet) request(line []byte) {
	t.Bad++
	t.Foreign = true
	t.keepLine(line, errRequest)
}

func (t *Telnet) unknownCommand(word string) {
	t.Strange++
	t.say("unknown command: " + word + ".  Try `help'.")
}

// put adds the point of a line to the job, or answers why it does not.
func (t *Telnet) put(line []byte) {
	if err := t.add(line); err != nil {
		t.job.Refused++
		t.keepLine(line, err)
		t.refused(err)
	}
}

func (t *Telnet) add(line []byte) error {
	if len(line) > len(putline.PutWord) {
		if key, p, ok := putline.ScanPoint(line, len(putline.PutWord)); ok {
			if ref := t.job.Find(key); ref != 0 && p.Time <= t.job.Latest {
				t.job.add(ref, p)
				return nil
			}
			return t.unknown(key, p)
		}
	}
	s, p, err := explainPut(line, t.Puts.o.names())
	if err != nil {
		return err
	}
	return t.job.addUnknown(seriesKey(s), p, t.Lines, func(string) (storage.Series, error) { return s, nil })
}

// seriesKey returns the key that scanPut finds in a line of a series without odd spelling.
func seriesKey(s storage.Series) []byte {
	var b strings.Builder
	b.WriteString(s.Metric)
	for _, tag := range s.Tags {
		b.WriteString(" " + tag.Key + "=" + tag.Value)
	}
	return putline.Latin1Bytes(b.String())
}

// refused answers a refused put.
func (t *Telnet) refused(err error) {
	t.Bad++
	t.say(refusalText(err))
}

func refusalText(err error) string {
	if number, ok := errors.AsType[putline.NumberError](err); ok {
		return "put: invalid value: " + string(number)
	}
	if unknown, ok := errors.AsType[noName](err); ok {
		return "put: unknown metric: " + unknown.Error()
	}
	return "put: illegal argument: " + err.Error()
}

func (t *Telnet) tooLong(longest int) {
	t.job.Refused++
	t.Bad++
	err := putline.ArgumentError("line of more than " + strconv.Itoa(longest) + " bytes")
	t.keepLine(nil, err)
	t.say("put: illegal argument: " + err.Error())
}

// maxAnswer bounds the answer to a run of lines. A client that sends nothing but nonsense needs no
// more.
const maxAnswer = 64 << 10

func (t *Telnet) say(text string) {
	if len(t.Answer) < maxAnswer {
		t.Answer = append(append(t.Answer, putline.Latin1Bytes(text)...), '\n')
	}
}

// plainPut is PlainPoint for a line of put.
func plainPut(b []byte, longest int) (key []byte, p putline.Point, n int) {
	if len(b) < len(putline.PutWord) || string(b[:len(putline.PutWord)]) != putline.PutWord {
		return nil, putline.Point{}, 0
	}
	return putline.PlainPoint(b, len(putline.PutWord), longest)
}

// explainPut is ExplainWords for a line of put.
func explainPut(line []byte, rules putline.NameRules) (s storage.Series, p putline.Point, err error) {
	return putline.ExplainWords(strings.Split(putline.Latin1(line), " ")[1:], rules)
}
