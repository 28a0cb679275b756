package otlp

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
)

// exportMethod is the only method that is served.
const exportMethod = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

// messageHead is how many bytes stand before a message of gRPC: whether it is compressed, and its length.
const messageHead = 5

// ServeGRPC is ServeHTTP for calls of gRPC, over HTTP/2. A call has one message and gets one answer. Its body comes as
// that of any request, under the same limits, before anything is made of it: what a head claims takes no memory.
func (h *Handler) ServeGRPC(w http.ResponseWriter, r *http.Request) {
	if err := checkCall(r); err != nil {
		http.Error(w, err.Error(), err.Status)
		return
	}
	if r.URL.Path != exportMethod {
		sendCall(w, nil, status.New(codes.Unimplemented, fmt.Sprintf("%.200q is not served, only metrics are: %s", r.URL.Path, exportMethod)))
		return
	}
	begin := time.Now()
	a := h.take(w, r, formatGRPC)
	a.sendCall(w)
	h.counters.observe(a.status, time.Since(begin))
}

// checkCall refuses what is no call of gRPC, with a status of HTTP.
func checkCall(r *http.Request) *httpapi.Error {
	contentType := r.Header.Get("Content-Type")
	switch subtype, ok := strings.CutPrefix(contentType, formatGRPC.String()); {
	case r.ProtoMajor < 2:
		return &httpapi.Error{Status: http.StatusHTTPVersionNotSupported, Err: errors.New("this port speaks gRPC, over HTTP/2; OTLP over HTTP is at /api/v1/otlp/v1/metrics of the HTTP port")}
	case r.Method != http.MethodPost:
		return &httpapi.Error{Status: http.StatusMethodNotAllowed, Err: errors.New("gRPC wants POST")}
	case !ok, subtype != "" && subtype != "+proto" && subtype[0] != ';':
		return &httpapi.Error{Status: http.StatusUnsupportedMediaType, Err: fmt.Errorf("content type %.100q: want application/grpc", contentType)}
	}
	return nil
}

// receiveCall reads the message of a call and decompresses it.
func (j *job) receiveCall(w http.ResponseWriter, r *http.Request) (err error) {
	if j.body, err = j.share.Receive(j.body[:0], w, r, j.o.BodyBytes+messageHead); err != nil {
		return err
	}
	message, compressed, err := splitMessage(j.body)
	if err != nil {
		return httpapi.WithStatus(http.StatusBadRequest, err)
	}
	coding, err := messageCoding(r.Header.Get("Grpc-Encoding"), compressed)
	if err != nil {
		return err
	}
	return j.unpack(message, coding)
}

// splitMessage returns the only message of a body.
func splitMessage(body []byte) (message []byte, compressed bool, err error) {
	if len(body) < messageHead {
		return nil, false, fmt.Errorf("a body of %d bytes: it ends before its message", len(body))
	}
	claimed, message := int64(binary.BigEndian.Uint32(body[1:])), body[messageHead:]
	switch {
	case body[0] > 1:
		return nil, false, fmt.Errorf("a message with the flags %#x", body[0])
	case claimed > int64(len(message)):
		return nil, false, fmt.Errorf("a message of %d bytes, of which %d came", claimed, len(message))
	case claimed < int64(len(message)):
		return nil, false, errors.New("more than one message in a call")
	}
	return message, body[0] == 1, nil
}

// messageCoding returns how a message is compressed.
func messageCoding(name string, compressed bool) (netserver.Coding, error) {
	switch {
	case name != "" && name != "identity" && name != "gzip":
		return netserver.Plain, httpapi.WithStatus(http.StatusUnsupportedMediaType, fmt.Errorf("unsupported grpc-encoding %.40q: want gzip or identity", name))
	case !compressed:
		return netserver.Plain, nil
	case name != "gzip":
		return netserver.Plain, httpapi.WithStatus(http.StatusBadRequest, errors.New("a compressed message without grpc-encoding"))
	}
	return netserver.Gzipped, nil
}

// sendCall sends the answer as that of a call.
func (a answer) sendCall(w http.ResponseWriter) {
	text := strings.ToValidUTF8(a.text, "\uFFFD")
	if a.status == http.StatusOK {
		sendCall(w, a.successProto(text), status.New(codes.OK, ""))
		return
	}
	s := status.New(a.code(), text)
	if a.retry {
		// a sender may repeat a call for which the process had no resources only when it is told after which time
		told, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(writelimits.RetryAfter())})
		if err == nil { // always, for a message of this kind
			s = told
		}
	}
	sendCall(w, nil, s)
}

// code returns the code of gRPC by which senders know whether to send again: the specification of OTLP has
// InvalidArgument for what can never be stored.
func (a answer) code() codes.Code {
	switch {
	case a.retry:
		return codes.Unavailable
	case a.status == http.StatusRequestTimeout:
		return codes.DeadlineExceeded // as gRPC's own servers; senders try again
	case a.status == http.StatusUnsupportedMediaType:
		return codes.Unimplemented
	case a.status >= http.StatusInternalServerError:
		return codes.Internal
	}
	return codes.InvalidArgument
}

// sendCall answers a call: with a message if it is OK, and with a status in any case.
func sendCall(w http.ResponseWriter, message []byte, s *status.Status) {
	header := w.Header()
	header.Set("Content-Type", formatGRPC.String())
	header.Set("Grpc-Accept-Encoding", "identity,gzip")
	w.WriteHeader(http.StatusOK)
	// errors from here on mean that the client went away
	if s.Code() == codes.OK {
		_, _ = w.Write(append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)) //nolint:gosec // an answer of a thousand bytes
	}
	_ = http.NewResponseController(w).Flush() // what is set after this is a trailer
	header.Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(s.Code())))
	if s.Message() != "" {
		header.Set(http.TrailerPrefix+"Grpc-Message", url.PathEscape(s.Message()))
	}
	if details, err := proto.Marshal(s.Proto()); err == nil && len(s.Proto().GetDetails()) > 0 {
		header.Set(http.TrailerPrefix+"Grpc-Status-Details-Bin", base64.RawStdEncoding.EncodeToString(details))
	}
}
