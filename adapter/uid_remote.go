package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/reply"
)

// uidPath takes a command about UIDs, UIDOptions as JSON. The answer is lines of JSON, uidLine, while it
// goes on.
const uidPath = prom.APIPrefix + "/admin/uid"

// uidLine is a line of an answer: one that is printed, or the end, which comes once and last.
type uidLine struct {
	Line  string `json:"line,omitempty"`
	Done  bool   `json:"done,omitempty"`
	Code  int    `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// maxUIDBytes bounds the body of a command.
const maxUIDBytes = 8 << 20

// uids carries out a command about UIDs in a running adapter.
func (a *adminAPI) uids(w http.ResponseWriter, r *http.Request) {
	var u UIDOptions
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUIDBytes)).Decode(&u)
	if err == nil {
		err = u.Validate()
	}
	if err != nil {
		reply.BadRequest(w, err)
		return
	}
	if err := a.store.Ready(r.Context()); err != nil {
		a.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines, flush := json.NewEncoder(w), http.NewResponseController(w)
	code, err := runUIDs(r.Context(), a.uidTables, u, func(line string) error {
		return errors.Join(lines.Encode(uidLine{Line: line}), flush.Flush())
	})
	end := uidLine{Done: true, Code: code}
	if err != nil {
		a.o.Logger.WarnContext(r.Context(), "a command about UIDs failed; see /-/ready if the tables are away", "command", u.Command, "err", err)
		end.Error = err.Error()
	} else if u.Command != UIDGrep && u.Command != UIDLookup {
		a.o.Logger.InfoContext(r.Context(), "command about UIDs done", "command", u.Command, "kind", u.Kind, "names", len(u.Names))
	}
	_ = lines.Encode(end) // the client misses it if it cannot be sent
}

// remoteUIDs has a running adapter carry out a command about UIDs.
func remoteUIDs(ctx context.Context, base string, u UIDOptions, printLine func(string) error) (code int, err error) {
	req, err := admin.JSONRequest(ctx, base, uidPath, u)
	if err != nil {
		return 0, err
	}
	return readLines(req, printLine)
}

// readLines sends a request whose answer is lines of JSON, and prints them as they come. It returns the code
// and the error of the end.
func readLines(req *http.Request, printLine func(string) error) (code int, err error) {
	resp, err := admin.OpenAnswer(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	for lines := json.NewDecoder(resp.Body); ; {
		var line uidLine
		switch err := lines.Decode(&line); {
		case err != nil:
			return 0, fmt.Errorf("read the answer of %s: %w", req.URL.Redacted(), err)
		case line.Error != "":
			return line.Code, errors.New(line.Error)
		case line.Done:
			return line.Code, nil
		}
		if err := printLine(line.Line); err != nil {
			return 0, err
		}
	}
}
