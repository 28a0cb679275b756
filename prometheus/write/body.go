package write

import (
	"fmt"
	"mime"
	"net/http"

	"github.com/klauspost/compress/s2"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

// Names of the message types in the media type.
const (
	protoV1 = "prometheus.WriteRequest"
	protoV2 = "io.prometheus.write.v2.Request"
)

// The media types as senders usually write them.
const (
	usualV1 = "application/x-protobuf"
	usualV2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
)

// versionOf returns the version that a request's headers declare. The bodies themselves cannot be
// told apart: each version, parsed as the other, is an empty message. Without headers it is 1.0,
// which had none.
func versionOf(header http.Header) (version, error) {
	v := version1
	switch contentType := header.Get("Content-Type"); contentType {
	case "", usualV1:
	case usualV2:
		v = version2
	default:
		mediaType, params, err := mime.ParseMediaType(contentType)
		if err != nil {
			return 0, httpapi.WithStatus(http.StatusUnsupportedMediaType, fmt.Errorf("content type %q: %w", contentType, err))
		}
		proto, given := params["proto"]
		switch {
		case mediaType != "application/x-protobuf", given && proto != protoV1 && proto != protoV2:
			return 0, httpapi.WithStatus(http.StatusUnsupportedMediaType, fmt.Errorf("content type %q: want application/x-protobuf with proto=%s or proto=%s", contentType, protoV1, protoV2))
		case proto == protoV2:
			v = version2
		}
	}
	if encoding := header.Get("Content-Encoding"); encoding != "" && encoding != "snappy" {
		return 0, httpapi.WithStatus(http.StatusUnsupportedMediaType, fmt.Errorf("content encoding %q: want snappy", encoding))
	}
	return v, nil
}

// maxSnappyRatio is how many bytes one byte of snappy can stand for: an element of three bytes
// copies at most 64. A body that claims more is not snappy, even if a decoder of S2 accepts it.
const maxSnappyRatio = 22

// decodeBody decompresses a block of snappy into the memory of dst. It checks the length that the
// block claims before it allocates memory.
func decodeBody(dst, body []byte, limit int, share *writelimits.Share) ([]byte, error) {
	n, err := s2.DecodedLen(body)
	switch {
	case err != nil:
		return dst, badBody(err)
	case n > limit:
		return dst, badBody(fmt.Errorf("decodes to %d bytes, more than %d", n, limit))
	case n > maxSnappyRatio*len(body):
		return dst, badBody(fmt.Errorf("%d bytes cannot decode to %d", len(body), n))
	}
	if err := share.Need(n); err != nil {
		return dst, err
	}
	decoded, err := s2.Decode(dst[:0], body)
	if err != nil {
		return dst, badBody(err)
	}
	return decoded, nil
}

func badBody(err error) error {
	return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("snappy block: %w", err))
}
