package netserver

import (
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// A Coding is how the body of a request is compressed.
type Coding int

// The codings that a TSD and graphite-web (by its servers) know.
const (
	Plain Coding = iota
	Gzipped
	Deflated
)

// CodingOf returns the coding of a request's body. An unknown one is an error that names it.
func CodingOf(r *http.Request) (Coding, error) {
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); coding {
	case "", "identity":
		return Plain, nil
	case "gzip", "x-gzip":
		return Gzipped, nil
	case "deflate", "x-deflate":
		return Deflated, nil
	default:
		return Plain, fmt.Errorf("unsupported content encoding %.40q", coding)
	}
}

// Reader decompresses what is packed.
func (c Coding) Reader(packed io.Reader) (io.Reader, error) {
	switch c {
	case Gzipped:
		return gzip.NewReader(packed)
	case Deflated:
		return zlib.NewReader(packed)
	}
	return packed, nil
}
