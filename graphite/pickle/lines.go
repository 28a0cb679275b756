package pickle

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"
)

// longestInteger bounds the digits of an integer: Python itself reads at most 4300.
const longestInteger = 4300

var errNumber = errors.New("a number cannot be read")

// long pushes an integer of any length, in two's complement.
func (d *Decoder) long(op byte) error {
	size := uint64(1)
	if op == opLong4 {
		size = 4
	}
	n, err := d.length(size)
	if err != nil {
		return err
	}
	b, err := d.take(n)
	if err != nil {
		return err
	}
	if len(b) > longestInteger {
		return errNumber
	}
	if len(b) <= 8 {
		var v uint64
		for i, c := range b {
			v |= uint64(c) << (8 * i)
		}
		if shift := 64 - 8*len(b); len(b) > 0 {
			d.push(numberOf(Int, float64(int64(v<<shift)>>shift)))
			return nil
		}
		d.push(Value{kind: Int})
		return nil
	}
	reversed := make([]byte, len(b))
	for i, c := range b {
		reversed[len(b)-1-i] = c
	}
	v := new(big.Int).SetBytes(reversed)
	if b[len(b)-1]&0x80 != 0 {
		v.Sub(v, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	d.pushBig(v)
	return nil
}

func (d *Decoder) pushBig(v *big.Int) {
	f, _ := new(big.Float).SetInt(v).Float64()
	if math.IsInf(f, 0) {
		d.push(Value{kind: BigInt})
		return
	}
	d.push(numberOf(Int, f))
}

// numberLine pushes a number that is written as a line.
func (d *Decoder) numberLine(op byte) error {
	line, err := d.line()
	if err != nil {
		return err
	}
	switch {
	case op == opFloatLine:
		v, err := strconv.ParseFloat(string(line), 64)
		if err != nil && !(errors.Is(err, strconv.ErrRange) && math.Abs(v) < 1) || bytes.ContainsAny(line, "xX_") {
			return errNumber
		}
		d.push(numberOf(Float, v))
		return nil
	case op == opIntLine && string(line) == "00":
		d.push(Value{kind: Bool})
		return nil
	case op == opIntLine && string(line) == "01":
		d.push(numberOf(Bool, 1))
		return nil
	case op == opLongLine:
		line = bytes.TrimSuffix(line, []byte("L"))
	}
	line = bytes.TrimSpace(line)
	if v, err := strconv.ParseInt(string(line), 10, 64); err == nil {
		d.push(numberOf(Int, float64(v)))
		return nil
	}
	if len(line) > longestInteger {
		return errNumber
	}
	v, ok := new(big.Int).SetString(string(line), 10)
	if !ok {
		return errNumber
	}
	d.pushBig(v)
	return nil
}

var errQuotes = errors.New("a string has no quotes")

// stringLine pushes a string of Python 2, written as its repr.
func (d *Decoder) stringLine() error {
	line, err := d.line()
	if err != nil {
		return err
	}
	line = bytes.TrimSpace(line)
	if len(line) < 2 || line[0] != line[len(line)-1] || line[0] != '\'' && line[0] != '"' {
		return errQuotes
	}
	line = line[1 : len(line)-1]
	at := len(d.text)
	for i := 0; i < len(line); i++ {
		if line[i] != '\\' {
			d.text = append(d.text, line[i])
			continue
		}
		if i++; i == len(line) {
			return errQuotes
		}
		n, err := d.escape(line[i:])
		if err != nil {
			return err
		}
		i += n
	}
	return d.pushOwn(at)
}

// escape appends what an escape of a string stands for, and returns how many bytes more than one it has.
func (d *Decoder) escape(rest []byte) (more int, err error) {
	const plain, meaning = `\'"abfnrtv`, "\\'\"\a\b\f\n\r\t\v"
	c := rest[0]
	if i := bytes.IndexByte([]byte(plain), c); i >= 0 {
		d.text = append(d.text, meaning[i])
		return 0, nil
	}
	switch {
	case c == 'x':
		if len(rest) < 3 {
			return 0, errQuotes
		}
		v, err := strconv.ParseUint(string(rest[1:3]), 16, 8)
		if err != nil {
			return 0, errQuotes
		}
		d.text = append(d.text, byte(v))
		return 2, nil
	case c >= '0' && c <= '7':
		v, n := 0, 0
		for n < 3 && n < len(rest) && rest[n] >= '0' && rest[n] <= '7' {
			v = v*8 + int(rest[n]-'0')
			n++
		}
		d.text = append(d.text, byte(v))
		return n - 1, nil
	}
	d.text = append(d.text, '\\', c)
	return 0, nil
}

// unicodeLine pushes a text in Python's raw-unicode-escape: Latin-1, with \uXXXX and \UXXXXXXXX.
func (d *Decoder) unicodeLine() error {
	line, err := d.line()
	if err != nil {
		return err
	}
	at := len(d.text)
	for i := 0; i < len(line); i++ {
		digits := 0
		if line[i] == '\\' && i+1 < len(line) {
			digits = escapeDigits(line[i+1])
		}
		switch {
		case line[i] != '\\' || i+1 == len(line):
			d.text = utf8.AppendRune(d.text, rune(line[i]))
		case digits == 0:
			d.text = append(d.text, '\\')
			d.text = utf8.AppendRune(d.text, rune(line[i+1]))
			i++
		default:
			r, ok := codePoint(line[i+2:], digits)
			if !ok {
				return errEscape
			}
			d.text = utf8.AppendRune(d.text, r)
			i += 1 + digits
		}
	}
	return d.pushOwn(at)
}

var errEscape = errors.New("a text has a bad escape")

// escapeDigits returns how many digits follow the letter of an escape; 0: the letter makes none.
func escapeDigits(letter byte) int {
	switch letter {
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

// codePoint reads the hexadecimal number of a character.
func codePoint(b []byte, digits int) (rune, bool) {
	if len(b) < digits {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[:digits]), 16, 32)
	return rune(v), err == nil && v <= utf8.MaxRune && (v < 0xd800 || v >= 0xe000)
}

// pushOwn pushes the text that begins at a place of the decoder's memory.
func (d *Decoder) pushOwn(at int) error {
	if !utf8.Valid(d.text[at:]) {
		return errUTF8
	}
	text := spanOf(Text, at, len(d.text)-at)
	text.own = true
	d.push(text)
	return nil
}
