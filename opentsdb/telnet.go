package opentsdb

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/internal/turns"
	"github.com/tsdbridge/tsdbridge/storage"
)

// telnet answers the lines of one connection. A put is answered only when something is wrong with
// it.
type telnet struct {
	puts *putStore
	// about answers the commands version and stats.
	about interface {
		Version() string
		AppendStats(b []byte) []byte
	}
	job job
	// histograms are those of this run of lines.
	histograms histograms
	answer     []byte // Latin-1
	pipeline   netserver.Pipeline
	turn       *turns.Turn // to parse
	client     string      // its address
	// late answers points that the store refused while more was read. It is called by the pipeline.
	late    func(answer string)
	rolled  []lineRollup
	lines   int  // of this run, points or not
	bad     int  // of them, points that were refused
	strange int  // of them, words that are not commands
	foreign bool // a line of them belongs to HTTP
}

// take stores the points of lines, and returns false when one of the lines was exit. It overwrites
// the lines.
func (t *telnet) take(ctx context.Context, l *netserver.Lines, d *delivery) (open bool) {
	_ = t.turn.Resume(ctx) // When the process stops, what was read is parsed without a turn.
	open = t.parse(l)
	t.turn.Pause()
	if len(t.rolled) > 0 {
		t.pipeline.Wait()
		t.storeRollups(ctx, d)
	}
	j := t.job
	// The store's refusals of new series are answered before more is read.
	if open && len(t.answer) == 0 && len(t.histograms.list) == 0 && j.NewSeries() == 0 && len(j.Batch.Refs) >= netserver.PipelinePoints {
		t.pipeline.Begin(func() {
			d.write(ctx, j, func(series string, points int, err error) {
				t.keepStored([]byte(series), points, err)
				t.late(refusalText(err))
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

// wait returns when the points of former runs are stored, or refused.
func (t *telnet) wait() { t.pipeline.Wait() }

// parse executes lines, except that it puts their points into the job and does not store them.
func (t *telnet) parse(l *netserver.Lines) (open bool) {
	t.job = t.puts.job(&t.puts.telnet)
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
		t.lines++
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
func (t *telnet) plain(l *netserver.Lines) {
	for !t.puts.o.ReadOnly {
		key, p, n := plainPut(l.Rest(), l.Longest)
		if n == 0 {
			return
		}
		l.Skip(n)
		t.lines++
		if ref := t.job.Find(key); ref != 0 && p.time <= t.job.Latest {
			t.job.add(ref, p)
		} else if err := t.unknown(key, p); err != nil {
			t.job.Refused++
			t.keepLine(key, err)
			t.refused(err)
		}
	}
}

// keepLine keeps a line that was refused, or the series of it.
func (t *telnet) keepLine(line []byte, err error) { t.keepStored(line, 1, err) }

// keepStored keeps the series, as it was sent, of points that the store refused.
func (t *telnet) keepStored(line []byte, points int, err error) {
	t.puts.o.Refused.Add(context.Background(), rejections.Sample{Source: rejections.OpenTSDBTelnet, Client: t.client, Reason: err.Error(), Points: points}, func() string {
		return latin1(line[:min(len(line), maxKept)])
	})
}

// maxKept is how many bytes of a refused line are kept at most.
const maxKept = 1 << 10

func (t *telnet) unknown(key []byte, p point) error {
	return t.job.addUnknown(key, p, t.lines, func(string) (storage.Series, error) { return putSeries(key, t.puts.o.names()) })
}

// line executes a line. It returns false when the connection is to be closed.
func (t *telnet) line(line []byte) (open bool) {
	if netserver.IsRequestHead(line) {
		t.request(line)
		return false
	}
	if bytes.HasPrefix(line, []byte(putWord)) && !t.puts.o.ReadOnly {
		t.put(line)
		return true
	}
	word, _, _ := strings.Cut(latin1(line), " ")
	if t.puts.o.ReadOnly && slices.Contains([]string{"put", "rollup", "histogram"}, word) {
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
		t.say(t.about.Version())
	case "stats":
		if len(t.answer) < maxAnswer {
			t.answer = t.about.AppendStats(t.answer)
		}
	case "dropcaches":
		t.puts.dropAsked()
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
const errRequest = argumentError("a line of an HTTP request ends the connection: a page of the web may have sent it")

// request refuses a line of the head of an HTTP request: what follows is not meant for telnet.
func (t *telnet) request(line []byte) {
	t.bad++
	t.foreign = true
	t.keepLine(line, errRequest)
}

func (t *telnet) unknownCommand(word string) {
	t.strange++
	t.say("unknown command: " + word + ".  Try `help'.")
}

// put adds the point of a line to the job, or answers why it does not.
func (t *telnet) put(line []byte) {
	if err := t.add(line); err != nil {
		t.job.Refused++
		t.keepLine(line, err)
		t.refused(err)
	}
}

func (t *telnet) add(line []byte) error {
	if len(line) > len(putWord) {
		if key, p, ok := scanPut(line); ok {
			if ref := t.job.Find(key); ref != 0 && p.time <= t.job.Latest {
				t.job.add(ref, p)
				return nil
			}
			return t.unknown(key, p)
		}
	}
	s, p, err := explainPut(line, t.puts.o.names())
	if err != nil {
		return err
	}
	return t.job.addUnknown(seriesKey(s), p, t.lines, func(string) (storage.Series, error) { return s, nil })
}

// seriesKey returns the key that scanPut finds in a line of a series without odd spelling.
func seriesKey(s storage.Series) []byte {
	var b strings.Builder
	b.WriteString(s.Metric)
	for _, tag := range s.Tags {
		b.WriteString(" " + tag.Key + "=" + tag.Value)
	}
	return latin1Bytes(b.String())
}

// refused answers a refused put.
func (t *telnet) refused(err error) {
	t.bad++
	t.say(refusalText(err))
}

func refusalText(err error) string {
	if number, ok := errors.AsType[numberError](err); ok {
		return "put: invalid value: " + string(number)
	}
	if unknown, ok := errors.AsType[noName](err); ok {
		return "put: unknown metric: " + unknown.Error()
	}
	return "put: illegal argument: " + err.Error()
}

func (t *telnet) tooLong(longest int) {
	t.job.Refused++
	t.bad++
	err := argumentError("line of more than " + strconv.Itoa(longest) + " bytes")
	t.keepLine(nil, err)
	t.say("put: illegal argument: " + err.Error())
}

// maxAnswer bounds the answer to a run of lines. A client that sends nothing but nonsense needs no
// more.
const maxAnswer = 64 << 10

func (t *telnet) say(text string) {
	if len(t.answer) < maxAnswer {
		t.answer = append(append(t.answer, latin1Bytes(text)...), '\n')
	}
}
