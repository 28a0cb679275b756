package otlp

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// Codes of google.rpc.
const (
	codeInvalidArgument = 3
	codeUnavailable     = 14
)

// body returns an ExportMetricsServiceResponse for a success, else a google.rpc.Status.
func (a answer) body() []byte {
	text := strings.ToValidUTF8(a.text, "\uFFFD")
	switch {
	case a.status == http.StatusOK && a.format == formatJSON:
		return a.successJSON(text)
	case a.status == http.StatusOK:
		return a.successProto(text)
	}
	code := codeInvalidArgument
	if a.retry {
		code = codeUnavailable
	}
	if a.format == formatJSON {
		return marshal(struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		}{code, text})
	}
	return wire.AppendString(wire.AppendUint(nil, 1, uint64(code)), 2, text)
}

func (a answer) successProto(text string) []byte {
	if text == "" {
		return nil
	}
	var partial []byte
	if a.rejected > 0 {
		partial = wire.AppendUint(partial, 1, uint64(a.rejected))
	}
	return wire.AppendString(nil, 1, string(wire.AppendString(partial, 2, text)))
}

func (a answer) successJSON(text string) []byte {
	if text == "" {
		return []byte("{}")
	}
	type partial struct {
		Rejected string `json:"rejectedDataPoints,omitempty"` // an int64 is a string in JSON
		Message  string `json:"errorMessage"`
	}
	p := partial{Message: text}
	if a.rejected > 0 {
		p.Rejected = strconv.Itoa(a.rejected)
	}
	return marshal(struct {
		Partial partial `json:"partialSuccess"`
	}{p})
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types
	}
	return b
}
