package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Long answers of the admin API that are text or findings are lines of JSON, each sent as it comes. The last one is an end.

// A textLine is a line that the command prints.
type textLine struct {
	Line string `json:"line"`
}

// A lineEnd comes once and last. Without it the answer is not complete.
type lineEnd struct {
	Done  bool   `json:"done,omitempty"`
	Code  int    `json:"code,omitempty"` // the exit code of the command
	Error string `json:"error,omitempty"`
}

// A lineWriter writes an answer of lines.
type lineWriter struct {
	to    *json.Encoder
	flush *http.ResponseController
}

func newLineWriter(w http.ResponseWriter) *lineWriter {
	w.Header().Set("Content-Type", "application/x-ndjson")
	return &lineWriter{json.NewEncoder(w), http.NewResponseController(w)}
}

func (l *lineWriter) write(line any) error { return errors.Join(l.to.Encode(line), l.flush.Flush()) }

func (l *lineWriter) text(line string) error { return l.write(textLine{line}) }

// end writes the end. The client misses it if it cannot be sent.
func (l *lineWriter) end(code int, err error) {
	end := lineEnd{Done: true, Code: code}
	if err != nil {
		end.Error = err.Error()
	}
	_ = l.to.Encode(end)
}

// readLines sends a request whose answer is lines, and gives each. It returns the code and the error of the end.
func readLines[L any](req *http.Request, give func(L) error) (code int, err error) {
	resp, err := openAnswer(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var text json.RawMessage
		var end lineEnd
		var line L
		if err := lines.Decode(&text); err != nil {
			return 0, fmt.Errorf("read the answer of %s: %w", req.URL.Redacted(), err)
		}
		if err := errors.Join(json.Unmarshal(text, &end), json.Unmarshal(text, &line)); err != nil {
			return 0, fmt.Errorf("read the answer of %s: %w", req.URL.Redacted(), err)
		}
		switch {
		case end.Error != "":
			return end.Code, errors.New(end.Error)
		case end.Done:
			return end.Code, nil
		}
		if err := give(line); err != nil {
			return 0, err
		}
	}
}

// readText is readLines for lines that are printed.
func readText(req *http.Request, printLine func(string) error) (code int, err error) {
	return readLines(req, func(l textLine) error { return printLine(l.Line) })
}
