package netserver

import "bytes"

// IsRequestHead reports whether a line that a protocol of lines refuses belongs to the head of an HTTP
// request. A page of the web can make a browser send one to any port, with lines of its choice in
// the body: none of these may be stored. Browsers cannot leave out the first line and the field Host.
func IsRequestHead(line []byte) bool {
	return isRequestLine(line) || isHost(line)
}

// isRequestLine reports whether a line is METHOD TARGET HTTP/x.y.
func isRequestLine(line []byte) bool {
	const version = " HTTP/1.1"
	line = bytes.TrimRight(line, "\r ")
	at := len(line) - len(version)
	if at < 0 || string(line[at:at+len(" HTTP/")]) != " HTTP/" || !isDigit(line[len(line)-3]) || line[len(line)-2] != '.' || !isDigit(line[len(line)-1]) {
		return false
	}
	return isMethod(line[:at])
}

// IsRequestBegin reports whether a line that is too long to be read begins as an HTTP request does.
func IsRequestBegin(line []byte) bool {
	_, target, _ := bytes.Cut(line, []byte{' '})
	return isMethod(line) && (bytes.HasPrefix(target, []byte("/")) || bytes.HasPrefix(target, []byte("http")))
}

// isMethod reports whether a line begins with a word of letters and a blank.
func isMethod(line []byte) bool {
	method, _, ok := bytes.Cut(line, []byte{' '})
	for _, c := range method {
		if c|0x20 < 'a' || c|0x20 > 'z' {
			return false
		}
	}
	return ok && len(method) > 0
}

func isHost(line []byte) bool {
	const host = "host:"
	return len(line) > len(host) && bytes.EqualFold(line[:len(host)], []byte(host))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// IsHandshake reports whether a connection begins with TLS: a handshake's record of version 3.
func IsHandshake(first []byte) bool {
	return len(first) >= 2 && first[0] == 0x16 && first[1] == 3
}
