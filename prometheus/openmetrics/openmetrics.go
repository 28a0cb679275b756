// Package openmetrics reads samples from text, in OpenMetrics or in the text format of Prometheus,
// as it comes: it holds some lines at a time. A line that cannot be read is reported with its
// number, and the others go on. It stores nothing.
package openmetrics

import (
	"fmt"
	"io"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/model/textparse"
)

// A Format is one of the two languages. They differ in their timestamps: OpenMetrics has seconds,
// the text format has milliseconds.
type Format int

// The formats. OpenMetrics must end with a line "# EOF".
const (
	OpenMetrics Format = iota
	Text
)

// ParseFormat returns the format of a name.
func ParseFormat(name string) (Format, error) {
	switch name {
	case "openmetrics":
		return OpenMetrics, nil
	case "text":
		return Text, nil
	}
	return 0, fmt.Errorf("format %.40q: want openmetrics or text", name)
}

func (f Format) String() string {
	if f == Text {
		return "text"
	}
	return "openmetrics"
}

// A Sample is one line with a value. It is valid until the visitor returns.
type Sample struct {
	Line  int // from 1
	Time  int64
	Timed bool // Time is in the line; milliseconds
	Value float64
	// Raw is the text of the metric and its labels. With Type it names the series: samples with
	// equal ones have equal labels.
	Raw []byte
	// Family is the metric family of the last comment, "" if the sample is not of that family.
	Family string
	// Metadata are what comments say of Family.
	Metadata metadata.Metadata

	kind   model.MetricType
	parser textparse.Parser
}

// Type returns the type that the last "# TYPE" line gave. It decides how labels le and quantile
// are written.
func (s *Sample) Type() model.MetricType { return s.kind }

// Labels returns the labels, sorted.
func (s *Sample) Labels() (ls labels.Labels) {
	s.parser.Labels(&ls)
	return ls
}

// Exemplar returns the exemplar of the sample; false: there is none. It can be asked once.
func (s *Sample) Exemplar() (e exemplar.Exemplar, ok bool) {
	ok = s.parser.Exemplar(&e)
	return e, ok
}

// A BadLine is a line that cannot be read, and why.
type BadLine struct {
	Line int
	Text string // its first bytes
	Err  error
}

// Error names the line.
func (b *BadLine) Error() string { return fmt.Sprintf("line %d: %v: %q", b.Line, b.Err, b.Text) }

// Unwrap returns the reason.
func (b *BadLine) Unwrap() error { return b.Err }

// A Visitor takes what is read, in the order of the text. An error ends the reading.
type Visitor interface {
	Sample(s *Sample) error
	Bad(b *BadLine) error
}

// Options tell how a text is read.
type Options struct {
	Format Format
	// LineBytes is how long a line may be; 0: DefaultLineBytes. A longer one is a BadLine.
	LineBytes int
}

// DefaultLineBytes is how long a line may usually be: a series with labels of 1 MiB has one.
const DefaultLineBytes = 2 << 20

// Read reads a text to its end. It returns an error of r or of the visitor.
func Read(r io.Reader, o Options, v Visitor) error {
	if o.LineBytes == 0 {
		o.LineBytes = DefaultLineBytes
	}
	p := &parser{format: o.Format, visitor: v, symbols: labels.NewSymbolTable()}
	b := &blocks{r: r, lineBytes: o.LineBytes, tooLong: func(line int, text []byte) error {
		return p.bad(line, text, fmt.Errorf("line of more than %d bytes", o.LineBytes))
	}}
	for {
		lines, first, err := b.next()
		if len(lines) > 0 {
			if err := p.block(lines, first); err != nil {
				return err
			}
		}
		if err == io.EOF { //nolint:errorlint // next returns it as it is
			return p.end(b.line)
		}
		if err != nil {
			return err
		}
	}
}
