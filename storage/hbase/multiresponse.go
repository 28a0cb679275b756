package hbase

import (
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// An answer is what became of one action: cells of a read, an exception, or done.
type answer struct {
	done      bool
	made      bool // the condition was true
	cells     []cell
	exception *exception
}

var errBadAnswer = errors.New("malformed answer")

// The messages of an answer, by the numbers of Client.proto and HBase.proto:
//
//	MultiResponse      1 RegionActionResult...
//	RegionActionResult 1 ResultOrException..., 2 NameBytesPair, 3 processed
//	ResultOrException  1 index, 2 Result, 3 NameBytesPair
//	Result             2 associated_cell_count
//	NameBytesPair      1 name, 2 value

// answers takes the response apart, one answer for each action that was sent.
func (m *multi) answers(response []byte) ([]answer, error) {
	t := taking{multi: m, out: make([]answer, len(m.sent)), cells: m.block}
	group := 0
	f := fields{rest: response}
	for f.next() {
		if f.tag != 1<<3|isBytes {
			continue
		}
		if group < len(m.groups) {
			if err := t.group(m.groups[group], f.bytes); err != nil {
				return nil, err
			}
		}
		group++
	}
	if f.err != nil {
		return nil, f.err
	}
	if group != len(m.groups) {
		return nil, fmt.Errorf("%w: %d results for %d groups", errBadAnswer, group, len(m.groups))
	}
	return t.out, nil
}

// taking is the state of answers: what is known of each action, and the cells that no result has
// claimed yet.
type taking struct {
	multi  *multi
	out    []answer
	cells  []byte
	memory []cell // of the next rows
}

// group takes a RegionActionResult. The server may refuse the group as a whole.
func (t *taking) group(rows []int, b []byte) error {
	processed, made := false, false // of a condition
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | isBytes:
			if err := t.result(rows, f.bytes); err != nil {
				return err
			}
		case 2<<3 | isBytes:
			x, err := parseException(f.bytes)
			if err != nil {
				return err
			}
			for _, i := range rows {
				t.out[i].exception = x
			}
		case 3<<3 | isNumber:
			processed, made = true, f.value != 0
		}
	}
	if t.multi.sent[rows[0]].condition != nil {
		a := &t.out[rows[0]]
		if a.done && !processed && f.err == nil {
			return errUnconditional(t.multi.server)
		}
		a.done, a.made = processed, made
	}
	return f.err
}

// result takes a ResultOrException. A group made atomically has one for each mutation, numbered
// from 0 within the group.
func (t *taking) result(rows []int, b []byte) error {
	var index uint64
	var result, refusal []byte
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | isNumber:
			index = f.value
		case 2<<3 | isBytes:
			result = f.bytes
		case 3<<3 | isBytes:
			refusal = f.bytes
		}
	}
	if f.err != nil {
		return f.err
	}
	i := int(index) - 1
	if len(rows) == 1 && t.multi.sent[rows[0]].alone() {
		i = rows[0]
	}
	if i < 0 || i >= len(t.out) {
		return fmt.Errorf("%w: index %d of %d", errBadAnswer, index, len(t.out))
	}
	if refusal != nil {
		x, err := parseException(refusal)
		t.out[i].exception = x
		return err
	}
	t.out[i].done = true
	return t.take(&t.out[i], result)
}

// take gives the answer the cells that a Result announces.
func (t *taking) take(a *answer, result []byte) error {
	cells := 0
	f := fields{rest: result}
	for f.next() {
		if f.tag == 2<<3|isNumber {
			cells = int(int32(f.value))
		}
	}
	if f.err != nil || cells <= 0 {
		return f.err
	}
	if a.cells == nil {
		a.cells = t.room(cells)
	}
	var err error
	a.cells, t.cells, err = parseCells(a.cells, t.cells, cells)
	return err
}

// cellsAtOnce is for how many cells memory is taken at once, if there may be so many.
const cellsAtOnce = 256

// room returns memory for n cells of a row.
func (t *taking) room(n int) []cell {
	n = min(n, len(t.cells)/minCell)
	if cap(t.memory)-len(t.memory) < n {
		t.memory = make([]cell, 0, max(n, min(cellsAtOnce, len(t.cells)/minCell)))
	}
	at := len(t.memory)
	t.memory = t.memory[:at+n]
	return t.memory[at : at : at+n]
}

// parseException reads a NameBytesPair: the class and the stack trace.
func parseException(b []byte) (*exception, error) {
	var name, value []byte
	f := fields{rest: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | isBytes:
			name = f.bytes
		case 2<<3 | isBytes:
			value = f.bytes
		}
	}
	return newException(string(name), string(value)), f.err
}

// The lower three bits of a tag are the type of what follows; the number of the field is above
// them.
const (
	isNumber = uint64(protowire.VarintType)
	isBytes  = uint64(protowire.BytesType)
)

// fields walks over the fields of a message.
type fields struct {
	rest  []byte
	tag   uint64
	value uint64 // of a number
	bytes []byte // of bytes, never nil
	err   error  // why the walk ended early
}

// next goes to the next field.
func (f *fields) next() bool {
	if len(f.rest) == 0 {
		return false
	}
	number, kind, n := protowire.ConsumeTag(f.rest)
	if n < 0 {
		return f.fail(n)
	}
	f.tag = protowire.EncodeTag(number, kind)
	b := f.rest[n:]
	switch kind {
	case protowire.VarintType:
		f.value, n = protowire.ConsumeVarint(b)
	case protowire.BytesType:
		f.bytes, n = protowire.ConsumeBytes(b)
	default:
		n = protowire.ConsumeFieldValue(number, kind, b)
	}
	if n < 0 {
		return f.fail(n)
	}
	f.rest = b[n:]
	return true
}

func (f *fields) fail(n int) bool {
	f.err = fmt.Errorf("%w: %w", errBadAnswer, protowire.ParseError(n))
	return false
}
