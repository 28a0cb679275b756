package load

import (
	"strconv"
	"strings"
)

// Characters of our labels that names of OpenTSDB and of carbon cannot contain.
var (
	tagLetters  = strings.NewReplacer(":", "_")
	pathLetters = strings.NewReplacer(".", "_", ":", "_", "/", "_")
)

// Path returns the dotted name of a series: dc, host, metric, and what distinguishes the series
// from others of the same host and metric.
func (s *Series) Path() string {
	host, _, _ := strings.Cut(s.Label("instance"), ":")
	parts := []string{s.Label("dc"), pathLetters.Replace(host), s.Name()}
	for _, l := range s.Labels {
		switch l.Name {
		case "__name__", "dc", "env", "instance", "job", "fstype", "mountpoint":
		default:
			parts = append(parts, strings.Trim(pathLetters.Replace(l.Value), "_"))
		}
	}
	return strings.Join(parts, ".")
}

// tags writes all labels except the name.
func (s *Series) tags(before, between string) string {
	var b strings.Builder
	for _, l := range s.Labels {
		if l.Name != "__name__" {
			b.WriteString(before + l.Name + between + tagLetters.Replace(l.Value))
		}
	}
	return b.String()
}

// affixes are the text before and after the numbers of a line.
type affixes struct{ before, after string }

// lines encodes carbon's and telnet's lines.
type lines struct {
	format Format
	text   []byte
	known  map[*Series]affixes
}

func (e *lines) add(s Sample) {
	a, ok := e.known[s.Series]
	if !ok {
		if e.known == nil {
			e.known = map[*Series]affixes{}
		}
		a = e.affixes(s.Series)
		e.known[s.Series] = a
	}
	e.text = append(e.text, a.before...)
	if e.format == Telnet {
		// VictoriaMetrics accepts seconds only: it drops points with milliseconds silently.
		e.text = append(strconv.AppendInt(e.text, s.Time/1000, 10), ' ')
		e.text = appendValue(e.text, s.Value)
	} else {
		e.text = append(appendValue(e.text, s.Value), ' ')
		e.text = strconv.AppendInt(e.text, s.Time/1000, 10)
	}
	e.text = append(e.text, a.after...)
}

func (e *lines) affixes(s *Series) affixes {
	switch e.format {
	case CarbonTagged:
		return affixes{s.Name() + s.tags(";", "=") + " ", "\n"}
	case Telnet:
		return affixes{"put " + s.Name() + " ", s.tags(" ", "=") + "\n"}
	default:
		return affixes{s.Path() + " ", "\n"}
	}
}

func appendValue(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'f', -1, 64) }

func (e *lines) finish() []byte {
	out := e.text
	e.text = e.text[:0]
	return out
}

// putArray encodes the JSON array of /api/put.
type putArray struct {
	text  []byte
	known map[*Series]affixes
}

func (e *putArray) add(s Sample) {
	a, ok := e.known[s.Series]
	if !ok {
		if e.known == nil {
			e.known = map[*Series]affixes{}
		}
		tags := strings.TrimPrefix(s.Series.tags(`","`, `":"`), `",`)
		a = affixes{`{"metric":"` + s.Series.Name() + `","timestamp":`, `,"tags":{` + tags + `"}}`}
		e.known[s.Series] = a
	}
	separator := byte(',')
	if len(e.text) == 0 {
		separator = '['
	}
	e.text = append(append(e.text, separator), a.before...)
	e.text = append(strconv.AppendInt(e.text, s.Time, 10), `,"value":`...)
	e.text = append(appendValue(e.text, s.Value), a.after...)
}

func (e *putArray) finish() []byte {
	out := append(e.text, ']')
	e.text = e.text[:0]
	return out
}
