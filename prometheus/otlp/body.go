package otlp

import (
	"fmt"
	"mime"
	"net/http"

	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// A format is how requests and their answers are encoded.
type format int

const (
	formatProto format = iota
	formatJSON
	formatGRPC // protobuf in messages of gRPC
)

func (f format) String() string {
	switch f {
	case formatJSON:
		return "application/json"
	case formatGRPC:
		return "application/grpc"
	}
	return "application/x-protobuf"
}

func formatOf(r *http.Request) (format, error) {
	header := r.Header.Get("Content-Type")
	switch mediaType, _, _ := mime.ParseMediaType(header); mediaType {
	case "application/x-protobuf":
		return formatProto, nil
	case "application/json":
		return formatJSON, nil
	}
	return 0, httpapi.WithStatus(http.StatusUnsupportedMediaType, fmt.Errorf("content type %.100q: want application/x-protobuf or application/json", header))
}

// receive reads the body and decompresses it.
func (j *job) receive(w http.ResponseWriter, r *http.Request, f format) error {
	if f == formatGRPC {
		return j.receiveCall(w, r)
	}
	coding, err := netserver.CodingOf(r)
	if err != nil {
		return httpapi.WithStatus(http.StatusUnsupportedMediaType, err)
	}
	if j.body, err = j.share.Receive(j.body[:0], w, r, j.o.BodyBytes); err != nil {
		return err
	}
	if err = j.unpack(j.body, coding); err != nil {
		return err
	}
	if f == formatJSON {
		return j.fromJSON()
	}
	return nil
}

// unpack decompresses what was sent.
func (j *job) unpack(sent []byte, coding netserver.Coding) (err error) {
	j.decoded = sent
	if coding == netserver.Plain {
		return nil
	}
	j.packed.Reset(sent)
	j.unpacked, err = j.share.Unpack(j.unpacked[:0], &j.packed, coding, j.o.BodyBytes)
	j.decoded = j.unpacked
	return err
}

// jsonMemory and objectMemory are about how many bytes the module's decoder takes for a byte of JSON,
// and in addition for an object or a list: "{}" may become the data of a metric.
const (
	jsonMemory   = 8
	objectMemory = 200
)

// fromJSON encodes a body of JSON as protobuf.
func (j *job) fromJSON() error {
	objects, err := checkJSON(j.decoded)
	if err != nil {
		return httpapi.WithStatus(http.StatusBadRequest, err)
	}
	memory := jsonMemory*len(j.decoded) + objectMemory*objects
	if most := j.intake.MaxBytes() / 2; memory > most {
		return httpapi.WithStatus(http.StatusRequestEntityTooLarge, fmt.Errorf("JSON of %d bytes would take %d to decode, more than %d (half of --write.max-in-flight-bytes)", len(j.decoded), memory, most))
	}
	if err := j.share.Need(memory); err != nil {
		return err
	}
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalJSON(j.decoded); err != nil {
		return httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("JSON: %w", err))
	}
	b, err := req.MarshalProto()
	if err != nil {
		return httpapi.WithStatus(http.StatusBadRequest, err)
	}
	j.decoded = b
	return nil
}
