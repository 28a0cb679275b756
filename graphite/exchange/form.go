package exchange

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/internal/query"
)

// maxParameters bounds the parameters of a request. Django's limit is 1000 for a form.
const maxParameters = 20_000

// Form is the parameters of a request, as Django merges them: those of the query string and then
// those of a POST body. Where one value is wanted, the last one counts.
type Form map[string][]string

// Has reports whether there is a parameter.
func (f Form) Has(key string) bool { return len(f[key]) > 0 }

// Get returns the last value of a parameter, empty without one.
func (f Form) Get(key string) string {
	if list := f[key]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// List returns all values of a parameter, under the key that Rails, PHP and jQuery give it when its
// own is not there.
func (f Form) List(key string) []string {
	if f.Has(key) {
		return f[key]
	}
	return f[key+"[]"]
}

// Encode is for the log.
func (f Form) Encode() string { return url.Values(f).Encode() }

// ReadForm reads the parameters. A body counts for POST alone: in the two types that forms have, or,
// where a route says so (bodyBytes), as it is. Where the format is protobuf it is read as it is in any request:
// carbonapi sends it with GET. Other bodies are not read.
func ReadForm(w http.ResponseWriter, r *http.Request, bodyBytes int) (Form, []byte, error) {
	f := Form{}
	if err := query.AccountOf(r.Context()).Take(textCopies * int64(len(r.URL.RawQuery))); err != nil {
		return nil, nil, err
	}
	err := f.Add(r.URL.RawQuery)
	protobuf := f.AsksProtobuf()
	if err != nil || r.Method != http.MethodPost && !protobuf {
		return f, nil, err
	}
	var raw []byte
	if protobuf {
		bodyBytes = maxBody
	}
	limit := maxBody
	if bodyBytes > 0 {
		limit = bodyBytes
		raw, err = io.ReadAll(newBody(r.Context(), r.Body, limit))
	} else {
		err = f.addBody(r, newBody(r.Context(), r.Body, limit))
	}
	netserver.Drain(w, r)
	if err == nil {
		return f, raw, nil
	}
	var known *statusError
	switch {
	case errors.Is(err, errBodyTooLarge):
		return nil, nil, Refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", limit)
	case errors.As(err, &known), errors.Is(err, query.ErrBusy), errors.Is(err, query.ErrTooLarge):
		return nil, nil, err
	}
	return nil, nil, Refuse(http.StatusBadRequest, "read the body: %v", err)
}

// addBody adds the parameters of a form's body. A body of another kind is passed over.
func (f Form) addBody(r *http.Request, from io.Reader) error {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "multipart/form-data" && err == nil:
		return f.addParts(multipart.NewReader(from, params["boundary"]))
	case kind == "application/x-www-form-urlencoded", r.Header.Get("Content-Type") == "":
		text, err := io.ReadAll(from)
		if err != nil {
			return err
		}
		return f.Add(string(text))
	}
	return nil
}

// Add adds pairs. A semicolon separates nothing and a % that stands for nothing is one: Grafana
// sends the query of a find as it was typed, and tagged names have semicolons.
func (f Form) Add(query string) error {
	if n := strings.Count(query, "&"); n >= maxParameters {
		return Refuse(http.StatusRequestEntityTooLarge, "more than %d parameters", maxParameters)
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key = UnquotePlus(key)
		f[key] = append(f[key], UnquotePlus(value))
	}
	return nil
}

func (f Form) addParts(parts *multipart.Reader) error {
	for n := 0; ; n++ {
		if n > maxParameters {
			return Refuse(http.StatusRequestEntityTooLarge, "more than %d parameters", maxParameters)
		}
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if part.FileName() != "" {
			continue
		}
		value, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		f[part.FormName()] = append(f[part.FormName()], valid(string(value)))
	}
}

// UnquotePlus is Python's unquote_plus.
func UnquotePlus(s string) string {
	if !strings.ContainsAny(s, "+%") {
		return valid(s)
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '+':
			out = append(out, ' ')
		case '%':
			if high, low := hexDigit(s, i+1), hexDigit(s, i+2); high >= 0 && low >= 0 {
				out = append(out, byte(high<<4|low))
				i += 2
				continue
			}
			out = append(out, c)
		default:
			out = append(out, c)
		}
	}
	return valid(string(out))
}

func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }

func hexDigit(s string, i int) int {
	if i >= len(s) {
		return -1
	}
	switch c := s[i]; {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// AsksProtobuf reports whether the body of a request is such a message.
func (f Form) AsksProtobuf() bool { return f.Get("format") == carbonapi.Format }
