package openmetrics

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// parser parses blocks of lines with the parsers of the Prometheus module, which want a whole text.
type parser struct {
	format  Format
	visitor Visitor
	symbols *labels.SymbolTable

	sample   Sample
	families families
	kind     model.MetricType // of the last "# TYPE" line
	typeLine []byte           // which a later block begins with; empty: none was read
	text     []byte           // of the block that is parsed, as the module wants it
	prefix   int              // bytes of text before the block
	finished bool             // "# EOF" was read
	after    bool             // a line after it was reported
}

// symbolsOf is how many symbols the table may have before it is made anew.
const symbolsOf = 1 << 16

// block parses whole lines, the first of which has the number first.
func (p *parser) block(lines []byte, first int) error {
	if p.symbols.Len() > symbolsOf {
		p.symbols = labels.NewSymbolTable()
	}
	if p.format != OpenMetrics {
		return p.lines(lines, first)
	}
	if !p.finished {
		var end []byte
		lines, end, p.finished = cutEnd(lines)
		if err := p.lines(lines, first); err != nil || !p.finished {
			return err
		}
		first += bytes.Count(lines, []byte{'\n'}) + 1
		lines = end
	}
	if len(lines) == 0 || p.after {
		return nil
	}
	p.after = true
	return p.bad(first, lines, errors.New("data after # EOF"))
}

// cutEnd cuts lines around the line "# EOF".
func cutEnd(lines []byte) (before, after []byte, found bool) {
	const end = "# EOF"
	for from := 0; ; {
		at := bytes.Index(lines[from:], []byte(end))
		if at < 0 {
			return lines, nil, false
		}
		at += from
		from = at + len(end)
		if (at == 0 || lines[at-1] == '\n') && (from == len(lines) || lines[from] == '\n') {
			return lines[:at], lines[min(from+1, len(lines)):], true
		}
	}
}

// lines parses whole lines.
func (p *parser) lines(lines []byte, first int) error {
	if len(lines) == 0 {
		return nil
	}
	done, err := p.run(lines, first)
	if failed, ok := errors.AsType[*unreadableError](err); ok {
		return p.lineByLine(lines[done:], failed.line)
	}
	return err
}

// An unreadableError says that the module cannot parse a line after line.
type unreadableError struct {
	line int
	error
}

// module returns a parser of lines, which begin in the middle of a family.
func (p *parser) module(lines []byte) textparse.Parser {
	p.text = append(p.text[:0], p.typeLine...)
	p.prefix = len(p.text)
	p.text = append(p.text, lines...)
	if p.text[len(p.text)-1] != '\n' {
		p.text = append(p.text, '\n')
	}
	if p.format == OpenMetrics {
		p.text = append(p.text, "# EOF\n"...)
		return textparse.NewOpenMetricsParser(p.text, p.symbols)
	}
	p.text = append(p.text, '\n')
	p.text = p.text[:len(p.text)-1] // the module appends a line break
	return textparse.NewPromParser(p.text, p.symbols, false)
}

// run parses lines and shows their samples to the visitor. After an unreadableError, the first done
// bytes are parsed and shown, and the error tells the number of the line that comes then.
func (p *parser) run(lines []byte, first int) (done int, err error) {
	m := p.module(lines)
	if p.prefix > 0 {
		if _, err := m.Next(); err != nil {
			return 0, &unreadableError{first, err} // the module takes the line after our own one for a part of that
		}
	}
	line, at := first, p.prefix
	for shown := false; ; shown = true {
		entry, err := m.Next()
		for ; err == nil && entry != textparse.EntrySeries; entry, err = m.Next() {
			p.describe(m, entry)
		}
		switch {
		case errors.Is(err, io.EOF):
			return len(lines), nil
		case err != nil && !shown:
			return 0, &unreadableError{first, err}
		case err != nil:
			at += bytes.IndexByte(p.text[at:], '\n') + 1
			return min(at-p.prefix, len(lines)), &unreadableError{line + 1, err}
		}
		raw, time, value := m.Series()
		start := cap(p.text) - cap(raw)
		line += bytes.Count(p.text[at:start], []byte{'\n'})
		at = start
		p.sample = Sample{Line: line, Value: value, Raw: raw, parser: m, kind: p.kind}
		if time != nil {
			p.sample.Time, p.sample.Timed = *time, true
		}
		if p.families.has(raw) {
			p.sample.Family, p.sample.Metadata = p.families.name, p.families.Metadata
		}
		if err := p.visitor.Sample(&p.sample); err != nil {
			return 0, err
		}
	}
}

// describe keeps what a comment says of its family.
func (p *parser) describe(m textparse.Parser, entry textparse.Entry) {
	switch entry {
	case textparse.EntryType:
		name, kind := m.Type()
		p.families.begin(name)
		p.families.Type, p.kind, p.typeLine = kind, kind, p.lineOf(kind)
	case textparse.EntryHelp:
		name, help := m.Help()
		p.families.begin(name)
		p.families.Help = string(help)
	case textparse.EntryUnit:
		name, unit := m.Unit()
		p.families.begin(name)
		p.families.Unit = string(unit)
	}
}

// lineOf returns a line that tells the module the type of the last "# TYPE" line. The module needs no name,
// and a long one would be parsed with each block and each bad line.
func (p *parser) lineOf(kind model.MetricType) []byte {
	if p.format == Text && kind == model.MetricTypeUnknown {
		kind = "untyped"
	}
	return []byte("# TYPE x " + string(kind) + "\n")
}

// lineByLine parses each line by itself and reports those that cannot be parsed.
func (p *parser) lineByLine(lines []byte, first int) error {
	for line := first; len(lines) > 0; line++ {
		var one []byte
		if at := bytes.IndexByte(lines, '\n'); at >= 0 {
			one, lines = lines[:at+1], lines[at+1:]
		} else {
			one, lines = lines, nil
		}
		_, err := p.run(one, line)
		if failed, ok := errors.AsType[*unreadableError](err); ok {
			err = p.bad(line, one, failed.error)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// shownBytes is how much of a bad line is in an error.
const shownBytes = 120

func (p *parser) bad(line int, text []byte, err error) error {
	text, _, _ = bytes.Cut(text[:min(len(text), shownBytes)], []byte{'\n'})
	return p.visitor.Bad(&BadLine{Line: line, Text: strings.ToValidUTF8(string(text), "\uFFFD"), Err: reason(err)})
}

// reason shortens an error of the module, which repeats the text.
func reason(err error) error {
	if before, _, cut := strings.Cut(err.Error(), " while parsing: "); cut {
		return errors.New(before)
	}
	return err
}

// end checks that the text is whole.
func (p *parser) end(line int) error {
	if p.format == OpenMetrics && !p.finished {
		return p.bad(line+1, nil, errors.New("the text does not end with # EOF"))
	}
	return nil
}
