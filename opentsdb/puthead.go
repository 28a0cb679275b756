package opentsdb

import (
	"bytes"
	"strconv"
)

// A putHead is what the head of a request of /api/put says.
type putHead struct {
	query    string
	length   int // bytes of the body
	encoding string
}

const (
	putLine    = "POST /api/put"
	lineEnd    = "\r\n"
	lineEndTwo = lineEnd + lineEnd
)

// parsePutHead reads the head of the request that b begins with if it is a put as clients write them: HTTP/1.1, a body of known length, nothing
// that asks for more than an answer. n is the length of the head; 0 when net/http is to look at it, or its end is not there yet.
func parsePutHead(b []byte) (h putHead, n int) {
	end := bytes.Index(b, []byte(lineEndTwo))
	if end < 0 {
		return putHead{}, 0
	}
	line, rest, _ := bytes.Cut(b[:end+len(lineEnd)], []byte(lineEnd))
	target, ok := bytes.CutPrefix(line, []byte(putLine))
	if !ok {
		return putHead{}, 0
	}
	target, ok = bytes.CutSuffix(target, []byte(" HTTP/1.1"))
	if !ok || !h.takeQuery(target) {
		return putHead{}, 0
	}
	f := headFields{head: &h}
	for len(rest) > 0 {
		line, rest, _ = bytes.Cut(rest, []byte(lineEnd))
		if !f.take(line) {
			return putHead{}, 0
		}
	}
	if f.hosts != 1 || f.lengths != 1 {
		return putHead{}, 0
	}
	return h, end + len(lineEndTwo)
}

// takeQuery reads what stands behind the path: nothing, or a query that nothing in is escaped.
func (h *putHead) takeQuery(target []byte) bool {
	if len(target) == 0 {
		return true
	}
	if target[0] != '?' {
		return false
	}
	for _, c := range target[1:] {
		if !isWord(c) && c != '&' && c != '=' {
			return false
		}
	}
	h.query = string(target[1:])
	return true
}

// headFields reads the fields of a head.
type headFields struct {
	head                      *putHead
	hosts, lengths, encodings int
}

// take reads one field; false when it is for net/http. Fields that put does not look at are skipped if they are well formed beyond doubt.
func (f *headFields) take(line []byte) bool {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || len(name) == 0 {
		return false
	}
	for _, c := range name {
		if !isWord(c) {
			return false
		}
	}
	for _, c := range value {
		if c < ' ' || c > '~' {
			return false
		}
	}
	value = bytes.Trim(value, " ")
	switch {
	case isField(name, "Host"):
		f.hosts++
		return isHost(value)
	case isField(name, "Content-Length"):
		f.lengths++
		return f.takeLength(value)
	case isField(name, "Content-Encoding"):
		f.encodings++
		f.head.encoding = string(value)
		return f.encodings == 1
	case isField(name, "Connection"):
		return bytes.EqualFold(value, []byte("keep-alive"))
	case isField(name, "Transfer-Encoding"), isField(name, "Expect"), isField(name, "Upgrade"), isField(name, "Trailer"), isField(name, "TE"):
		return false
	}
	return true
}

func (f *headFields) takeLength(value []byte) bool {
	const maxDigits = 9
	if len(value) == 0 || len(value) > maxDigits {
		return false
	}
	for _, c := range value {
		if !isDigit(c) {
			return false
		}
	}
	length, err := strconv.Atoi(string(value))
	f.head.length = length
	return err == nil
}

func isField(name []byte, want string) bool {
	return len(name) == len(want) && bytes.EqualFold(name, []byte(want))
}

// isHost says whether a host is spelled as nearly all are.
func isHost(b []byte) bool {
	for _, c := range b {
		if !isWord(c) && c != ':' && c != '[' && c != ']' {
			return false
		}
	}
	return len(b) > 0
}

// isWord says whether a byte needs no second look in a name of HTTP.
func isWord(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_' || c == '.'
}
