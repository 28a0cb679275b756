package admin

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// uidPath takes a command about UIDs, a UIDRequest. The answer is lines of text.
const uidPath = prom.APIPrefix + "/admin/uid"

// maxUIDBytes bounds the body of a command.
const maxUIDBytes = 8 << 20

// UIDs carry out commands about UIDs in a running adapter.
type UIDs struct {
	failer
	tables UIDTables
}

// NewUIDs returns those of tables.
func NewUIDs(logger *slog.Logger, tables UIDTables) *UIDs { return &UIDs{failer{logger}, tables} }

// Handlers implements Operations.
func (u *UIDs) Handlers() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{uidPath: u.run}
}

func (u *UIDs) run(w http.ResponseWriter, r *http.Request) {
	var asked UIDRequest
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUIDBytes)).Decode(&asked)
	if err == nil {
		err = asked.Validate()
	}
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	if err := u.tables.Ready(r.Context()); err != nil {
		u.fail(w, r, err)
		return
	}
	lines := newLineWriter(w)
	code, err := u.tables.Run(r.Context(), asked, lines.text)
	if err != nil {
		u.logger.WarnContext(r.Context(), "a command about UIDs failed; see /-/ready if the tables are away", "command", asked.Command, "err", err)
	} else if asked.Command != UIDGrep && asked.Command != UIDLookup {
		u.logger.InfoContext(r.Context(), "command about UIDs done", "command", asked.Command, "kind", asked.Kind, "names", len(asked.Names))
	}
	lines.end(code, err)
}

// RemoteUIDs has a running adapter carry out commands about UIDs.
type RemoteUIDs struct{ Base string }

// Run carries out a command, as UIDTables.Run does.
func (u RemoteUIDs) Run(ctx context.Context, asked UIDRequest, printLine func(string) error) (code int, err error) {
	req, err := jsonRequest(ctx, u.Base, uidPath, asked)
	if err != nil {
		return 0, err
	}
	return readText(req, printLine)
}
