package put

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// HistogramStore puts OpenTSDB's histograms; a store is one.
type HistogramStore interface {
	PutHistograms(ctx context.Context, all []storage.CodedHistogram) error
}

// noHistograms is the answer to histograms without a codec.
const noHistograms = "Histogram storage has not been enabled. Check the 'tsd.core.histograms.config' configuration."

// Histograms are those of one request, or of one read of a connection, on their way into the store.
type Histograms struct {
	series  []storage.Series
	list    []storage.CodedHistogram // Ref is set when they are stored
	origins []int                    // what the protocol knows each by
	refused int                      // others
}

// Len returns how many there are to be stored.
func (h *Histograms) Len() int { return len(h.list) }

func (h *Histograms) reset() {
	clear(h.series)
	clear(h.list)
	h.series, h.list, h.origins, h.refused = h.series[:0], h.list[:0], h.origins[:0], 0
}

// Add adds a histogram that was checked.
func (h *Histograms) Add(s storage.Series, at putline.Stamp, value []byte, origin int) {
	h.series, h.origins = append(h.series, s), append(h.origins, origin)
	h.list = append(h.list, storage.CodedHistogram{Time: at.Time, Millis: at.Millis, Value: value})
}

// of returns the series of the first histogram of an origin.
func (h *Histograms) of(origin int) storage.Series {
	if i := slices.Index(h.origins, origin); i >= 0 {
		return h.series[i]
	}
	return storage.Series{}
}

// storeHistograms returns when all are durable but those whose series the store refused, which refuse is
// called for. After another error it may be called again.
func (in *Store) storeHistograms(ctx context.Context, h *Histograms, refuse func(origin int, err error)) error {
	return h.Store(ctx, in.o.Appender, in.o.Histograms, refuse)
}

// Store is putStore.storeHistograms.
func (h *Histograms) Store(ctx context.Context, names storage.Appender, to HistogramStore, refuse func(origin int, err error)) error {
	if len(h.list) == 0 {
		return nil
	}
	refs, errs := names.Resolve(ctx, h.series)
	for _, err := range errs {
		if err != nil && !storage.IsRefusal(err) {
			return err
		}
	}
	good := make([]storage.CodedHistogram, 0, len(h.list))
	for i, ref := range refs {
		if errs == nil || errs[i] == nil {
			h.list[i].Ref = ref
			good = append(good, h.list[i])
		}
	}
	if err := to.PutHistograms(ctx, good); err != nil {
		return err
	}
	for i, err := range errs {
		if err != nil {
			refuse(h.origins[i], err)
		}
	}
	return nil
}

// countHistograms counts histograms after they were stored or not.
func (p *protocol) countHistograms(h *Histograms, rejected int, err error) {
	p.CountPoints(len(h.list)+h.refused, h.refused+rejected, err)
}

// errHistogram is what a TSD says over HTTP of an exception of a kind that it does not expect.
const errHistogram = putline.ArgumentError("Unexpected exception")

// errUnderflow is what Kryo says of bytes that end too early.
var errUnderflow = errors.New("Buffer underflow.")

// recode reads a histogram that a client has encoded with a codec, and encodes it as a TSD stores it: with the
// id, and without what is of no use in it.
func (c Codecs) recode(codec int64, encoded []byte) ([]byte, error) {
	if codec != int64(c.Simple) {
		return nil, putline.ArgumentError("No codec found mapped to ID " + strconv.FormatInt(codec, 10))
	}
	h, err := schema.ParseSimpleHistogram(encoded)
	switch {
	case errors.Is(err, schema.ErrShortHistogram):
		return nil, putline.ArgumentError("Byte array shorter than 6 bytes detected: " + prettyBytes(encoded))
	case err != nil:
		return nil, errUnderflow
	}
	return c.encode(&h)
}

// encode returns the value of a histogram's cell.
func (c Codecs) encode(h *schema.SimpleHistogram) ([]byte, error) {
	h.Normalize()
	if n := len(h.Buckets); n > schema.MaxHistogramBuckets {
		return nil, putline.ArgumentError(fmt.Sprintf("a histogram of %d buckets; it may have %d", n, schema.MaxHistogramBuckets))
	}
	value := h.AppendTo([]byte{c.Simple})
	if len(value) > storage.MaxHistogramBytes {
		return nil, putline.ArgumentError(fmt.Sprintf("a histogram of %d bytes; it may have %d", len(value), storage.MaxHistogramBytes))
	}
	return value, nil
}

// prettyBytes is Bytes.pretty of HBase's client for a few bytes.
func prettyBytes(b []byte) string {
	printable := true
	for _, c := range b {
		printable = printable && c >= ' ' && c <= '~'
	}
	if printable {
		return strconv.Quote(string(b))
	}
	return signedBytes(b)
}

// signedBytes is Java's Arrays.toString.
func signedBytes(b []byte) string {
	var text strings.Builder
	text.WriteByte('[')
	for i, c := range b {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(strconv.Itoa(int(int8(c))))
	}
	return text.String() + "]"
}

// checkHistogram is TSDB.addHistogramPoint of OpenTSDB 2.4 as far as it throws.
func checkHistogram(metric string, timestamp int64, tags []storage.Tag, value []byte, rules putline.NameRules) (putline.Stamp, error) {
	at, ok := putline.StampOf(timestamp)
	if !ok {
		return at, putline.ArgumentError(fmt.Sprintf("bad timestamp=%d when trying to add value=%s/0 to metric=%s, tags=%s", timestamp, signedBytes(value), metric, putline.TagsText(tags)))
	}
	return at, putline.CheckNames(metric, tags, rules)
}

// parseBounds reads the bounds of a bucket: lower,upper.
func parseBounds(text string, bad func() error) (lower, upper float32, err error) {
	first, second, ok := strings.Cut(text, ",")
	if !ok || strings.Contains(second, ",") {
		return 0, 0, bad()
	}
	if lower, err = parseFloat32(first); err == nil {
		upper, err = parseFloat32(second)
	}
	return lower, upper, err
}

// parseFloat32 is Java's Float.parseFloat.
func parseFloat32(s string) (float32, error) {
	switch strings.TrimFunc(s, func(r rune) bool { return r <= ' ' }) {
	case "NaN", "+NaN", "-NaN":
		return float32(math.NaN()), nil
	case "Infinity", "+Infinity":
		return float32(math.Inf(1)), nil
	case "-Infinity":
		return float32(math.Inf(-1)), nil
	}
	v, err := putline.ParseFloat(s, 32)
	return float32(v), err
}

// decodeBase64 is Java's DatatypeConverter.parseBase64Binary: it reads over characters of other kinds, and over
// digits at the end that are no group of four. Those above 7F it cannot read.
func decodeBase64(text []byte) ([]byte, bool) {
	const padding = 127
	out := make([]byte, 0, len(text)/4*3)
	var group [4]byte
	n := 0
	for _, c := range text {
		digit := byte(padding)
		switch {
		case c >= 'A' && c <= 'Z':
			digit = c - 'A'
		case c >= 'a' && c <= 'z':
			digit = c - 'a' + 26
		case putline.IsDigit(c):
			digit = c - '0' + 52
		case c == '+':
			digit = 62
		case c == '/':
			digit = 63
		case c == '=':
		case c >= 0x80:
			return nil, false
		default:
			continue
		}
		group[n] = digit
		if n++; n < len(group) {
			continue
		}
		n = 0
		out = append(out, group[0]<<2|group[1]>>4)
		if group[2] != padding {
			out = append(out, group[1]<<4|group[2]>>2)
		}
		if group[3] != padding {
			out = append(out, group[2]<<6|group[3])
		}
	}
	return out, true
}
