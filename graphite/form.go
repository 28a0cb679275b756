package graphite

import (
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// maxBody bounds the body of a request in bytes.
const maxBody = 8 << 20

// form is the parameters of a request, as Django merges them: those of the query string and then those of a POST body.
// Where one value is wanted, the last one counts.
type form map[string][]string

func (f form) has(key string) bool { return len(f[key]) > 0 }

func (f form) get(key string) string {
	if list := f[key]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}

// list returns all values of a parameter, under the key that Rails, PHP and jQuery give it when its own is not there.
func (f form) list(key string) []string {
	if f.has(key) {
		return f[key]
	}
	return f[key+"[]"]
}

// encode is for the log.
func (f form) encode() string { return url.Values(f).Encode() }

// readForm reads the parameters. A body counts for POST alone, in the two types that forms have; other bodies are not read.
func readForm(w http.ResponseWriter, r *http.Request) (form, error) {
	f := form{}
	f.add(r.URL.RawQuery)
	if r.Method != http.MethodPost {
		return f, nil
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case kind == "multipart/form-data":
		err = f.addParts(multipart.NewReader(r.Body, params["boundary"]))
	case kind == "application/x-www-form-urlencoded", r.Header.Get("Content-Type") == "":
		var body []byte
		body, err = io.ReadAll(r.Body)
		f.add(string(body))
	default:
		err = nil
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "the body is larger than %d bytes", large.Limit)
	}
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "read the body: %v", err)
	}
	return f, nil
}

// add adds pairs. A semicolon separates nothing and a % that stands for nothing is one: Grafana sends the query of a find as it was
// typed, and tagged names have semicolons.
func (f form) add(query string) {
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, value, _ := strings.Cut(pair, "=")
		key = unquotePlus(key)
		f[key] = append(f[key], unquotePlus(value))
	}
}

func (f form) addParts(parts *multipart.Reader) error {
	for {
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

// unquotePlus is Python's unquote_plus.
func unquotePlus(s string) string {
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
