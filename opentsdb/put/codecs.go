package put

import (
	"fmt"
	"strconv"
	"strings"
)

// simpleHistogramDecoder is the class of the one codec that OpenTSDB has itself.
const simpleHistogramDecoder = "SimpleHistogramDecoder"

// Codecs are the codecs of OpenTSDB's histograms, of which there is one: its id is the first byte of
// the cells that it writes.
type Codecs struct {
	Enabled bool
	Simple  byte
}

// ID returns the id of OpenTSDB's SimpleHistogramDecoder; false: there are no histograms.
func (c Codecs) ID() (id byte, ok bool) { return c.Simple, c.Enabled }

// Any reports whether there is a codec.
func (c Codecs) Any() bool { return c.Enabled }

// ParseCodecs reads --opentsdb.histogram-codecs: class=id. The class may have the name of its package.
func ParseCodecs(flag string) (c Codecs, err error) {
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
		case c.Enabled:
			return c, fmt.Errorf("--opentsdb.histogram-codecs=%s: %s has two ids", flag, simpleHistogramDecoder)
		}
		c = Codecs{Enabled: true, Simple: byte(id)}
	}
	return c, nil
}

// Text returns the codecs as a TSD's configuration has them.
func (c Codecs) Text() string {
	if !c.Enabled {
		return ""
	}
	return fmt.Sprintf(`{"net.opentsdb.core.%s":%d}`, simpleHistogramDecoder, c.Simple)
}
