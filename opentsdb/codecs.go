package opentsdb

import (
	"fmt"
	"strconv"
	"strings"
)

// simpleHistogramDecoder is the class of the one codec that OpenTSDB has itself.
const simpleHistogramDecoder = "SimpleHistogramDecoder"

// histogramCodecs are the codecs of OpenTSDB's histograms, of which there is one: its id is the first byte of
// the cells that it writes.
type histogramCodecs struct {
	enabled bool
	simple  byte
}

// ID returns the id of OpenTSDB's SimpleHistogramDecoder; false: there are no histograms.
func (c histogramCodecs) ID() (id byte, ok bool) { return c.simple, c.enabled }

// any reports whether there is a codec.
func (c histogramCodecs) any() bool { return c.enabled }

// ParseCodecs reads --opentsdb.histogram-codecs: class=id. The class may have the name of its package.
func ParseCodecs(flag string) (c histogramCodecs, err error) {
	if flag == "" {
		return c, nil
	}
	for codec := range strings.SplitSeq(flag, ",") {
		class, number, ok := strings.Cut(codec, "=")
		class = strings.TrimSpace(class)
		id, err := strconv.ParseUint(strings.TrimSpace(number), 10, 8)
		switch {
		case !ok || err != nil:
			return c, fmt.Errorf("--opentsdb.histogram-codecs=%s: %q: want a class and its id: %s=0", flag, codec, simpleHistogramDecoder)
		case strings.TrimPrefix(class, "net.opentsdb.core.") != simpleHistogramDecoder:
			return c, fmt.Errorf("--opentsdb.histogram-codecs=%s: there is no codec %q: a TSD's plugins do not run here, there is only %s", flag, class, simpleHistogramDecoder)
		case c.enabled:
			return c, fmt.Errorf("--opentsdb.histogram-codecs=%s: %s has two ids", flag, simpleHistogramDecoder)
		}
		c = histogramCodecs{enabled: true, simple: byte(id)}
	}
	return c, nil
}

// text returns the codecs as a TSD's configuration has them.
func (c histogramCodecs) text() string {
	if !c.enabled {
		return ""
	}
	return fmt.Sprintf(`{"net.opentsdb.core.%s":%d}`, simpleHistogramDecoder, c.simple)
}
