package put

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// storeError is what a TSD answers when a line was read and its point cannot be stored. It calls all of
// these errors of HBase.
type storeError struct{ error }

// histogram adds the histogram of a line to those of the read, or answers why it does not.
func (t *Telnet) histogram(line []byte) {
	if err := t.addHistogram(strings.Split(putline.Latin1(line), " ")[1:]); err != nil {
		t.histograms.refused++
		t.keepLine(line, err)
		t.refusedHistogram(err)
	}
}

func (t *Telnet) refusedHistogram(err error) {
	t.Bad++
	if number, ok := errors.AsType[putline.NumberError](err); ok {
		t.say("histogram: invalid value: " + string(number))
		return
	}
	if failed, ok := errors.AsType[storeError](err); ok {
		t.say("histogram: HBase error: " + failed.Error())
		return
	}
	t.say("histogram: illegal argument: " + err.Error())
}

// addHistogram adds the histogram of the words of a line.
func (t *Telnet) addHistogram(words []string) error {
	s, at, value, err := t.Puts.o.Codecs.ParseLine(words, t.Puts.o.names())
	if err != nil {
		return err
	}
	if err := t.job.early(putline.Point{Stamp: at}); err != nil {
		return storeError{err}
	}
	t.histograms.Add(s, at, value, t.Lines)
	return nil
}

// ParseLine is HistogramDataPointRpc.importDataPoint of OpenTSDB 2.4 for the words of a line from the
// metric on: metric timestamp [codec] value tags.
func (c Codecs) ParseLine(words []string, rules putline.NameRules) (s storage.Series, at putline.Stamp, value []byte, err error) {
	if !c.Enabled {
		return s, at, nil, putline.ArgumentError(noHistograms)
	}
	switch {
	case len(words) < 4:
		return s, at, nil, putline.ArgumentError(fmt.Sprintf("not enough arguments (need least 5, got %d)", len(words)))
	case words[0] == "":
		return s, at, nil, putline.ArgumentError("empty metric name")
	}
	timestamp, err := putline.ParseLong(strings.ReplaceAll(words[1], ".", ""))
	switch {
	case err != nil:
		return s, at, nil, err
	case timestamp <= 0:
		return s, at, nil, putline.ArgumentError(fmt.Sprintf("invalid timestamp: %d", timestamp))
	}
	codec, notID := strconv.ParseInt(words[2], 10, 32)
	rest := words[2:]
	if notID == nil {
		rest = words[3:]
	}
	if rest[0] == "" {
		return s, at, nil, putline.ArgumentError("empty histogram value")
	}
	tags, err := putline.ParseTags(rest[1:])
	if err != nil {
		return s, at, nil, err
	}
	if notID == nil {
		value, err = c.decodeLine(codec, rest[0])
	} else {
		value, err = c.encodeLine(rest[0])
	}
	if err == nil {
		at, err = checkHistogram(words[0], timestamp, tags, value, rules)
	}
	if err != nil {
		return s, at, nil, storeError{err}
	}
	return putline.Series(words[0], tags), at, value, nil
}

// decodeLine reads an encoded histogram of a line.
func (c Codecs) decodeLine(codec int64, value string) ([]byte, error) {
	encoded, ok := decodeBase64(putline.Latin1Bytes(value))
	if !ok {
		return nil, errHistogram
	}
	return c.recode(codec, encoded)
}

// encodeLine is HistogramDataPointRpc.parseTelnet of OpenTSDB 2.4: u=1:o=2:lower,upper=count:... A TSD
// answers nothing to what it cannot read there, and stores nothing.
func (c Codecs) encodeLine(text string) ([]byte, error) {
	var h schema.SimpleHistogram
	for bucket := range strings.SplitSeq(text, ":") {
		bounds, number, ok := strings.Cut(bucket, "=")
		if !ok || strings.Contains(number, "=") {
			return nil, putline.ArgumentError("Improperly formatted bucket: " + bucket)
		}
		count, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, putline.InputError(number)
		}
		switch bounds = strings.ToLower(bounds); bounds {
		case "u":
			h.Underflow = count
		case "o":
			h.Overflow = count
		default:
			lower, upper, err := parseBounds(bounds, func() error { return putline.ArgumentError("Improperly formatted bounds: " + bucket) })
			if err != nil {
				return nil, err
			}
			h.Buckets = append(h.Buckets, schema.HistogramBucket{Lower: lower, Upper: upper, Count: count})
		}
	}
	return c.encode(&h)
}
