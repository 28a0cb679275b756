package adapter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/graphite"
	"github.com/tsdbridge/tsdbridge/graphite/whisper"
	prom "github.com/tsdbridge/tsdbridge/prometheus"
	"github.com/tsdbridge/tsdbridge/storage"
)

// exportWhisperPath answers with whisper files.
const exportWhisperPath = prom.APIPrefix + "/admin/export/whisper"

// ExportFilesOptions are the flags of exports of directories of files.
type ExportFilesOptions struct {
	graphite.ExportQuery // --match, --retentions, --tagged-by-name

	Dir   string        // argument
	URL   string        // --adapter-url
	Every time.Duration // --progress
}

// Validate names the flag that cannot work.
func (e ExportFilesOptions) Validate() error {
	if err := e.ExportQuery.Validate(); err != nil {
		return fmt.Errorf("--retentions=%s: %w", e.Retentions, err)
	}
	if e.Every < 0 {
		return fmt.Errorf("--progress=%v: must not be negative", e.Every)
	}
	return nil
}

// A filesSource calls use with each file of an export.
type filesSource func(ctx context.Context, q graphite.ExportQuery, use func(*graphite.ExportedFile) error) error

// ExportWhisper writes whisper files of the series of the tables, or of an adapter that has them open.
func ExportWhisper(ctx context.Context, o Options, e ExportFilesOptions, console Console) error {
	return o.aloneOrAsked(e.URL, func() error {
		return o.runAlone(ctx, func(ctx context.Context, a *Adapter) error {
			return e.run(ctx, console, a.exportFiles)
		})
	}, func(base string) error { return e.run(ctx, console, remoteFiles(base)) })
}

// exportFiles is a filesSource of the tables.
func (a *Adapter) exportFiles(ctx context.Context, q graphite.ExportQuery, use func(*graphite.ExportedFile) error) error {
	account := a.budget.Open()
	defer account.Close()
	return a.graphite.Export(budget.With(ctx, account), q, use)
}

// run writes the files of a source.
func (e ExportFilesOptions) run(ctx context.Context, console Console, source filesSource) error {
	line := &statusLine{console: console}
	var files, leftOut int
	var points int64
	begun := time.Now()
	told, every := begun, e.Every
	if every == 0 {
		every = time.Second
	}
	err := source(ctx, e.ExportQuery, func(f *graphite.ExportedFile) error {
		if f.Reason != "" {
			leftOut++
			fmt.Fprintf(line, "%s: %s\n", f.Path, f.Reason)
			return nil
		}
		if err := writeWhole(filepath.Join(e.Dir, filepath.FromSlash(f.Path)), f.Data); err != nil {
			return err
		}
		files++
		points += f.Points
		if now := time.Now(); (console.Terminal || e.Every > 0) && now.Sub(told) >= every {
			told = now
			line.print(fmt.Sprintf("%d points of %d files", points, files))
		}
		return nil
	})
	line.close()
	if err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		return err
	}
	fmt.Fprintf(console.Out, "%d points of %d files exported in %v\n", points, files, time.Since(begun).Round(time.Millisecond))
	switch {
	case leftOut > 0:
		return &ExitError{ExitIncomplete, fmt.Errorf("%d series were left out", leftOut)}
	case files == 0:
		return errors.New("no series was found")
	}
	return nil
}

// writeWhole writes a file, which is never there in part.
func writeWhole(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	part := name + ".part"
	if err := os.WriteFile(part, data, 0o666); err != nil {
		return err
	}
	return os.Rename(part, name)
}

// A fileFrame is a line of JSON, which is followed by Bytes of a file. The last one of an answer has Done or
// Error; without it the answer is not complete.
type fileFrame struct {
	Path   string `json:"path,omitempty"`
	Bytes  int    `json:"bytes"`
	Points int64  `json:"points,omitempty"`
	Reason string `json:"reason,omitempty"`
	Done   bool   `json:"done,omitempty"`
	Error  string `json:"error,omitempty"`
}

// remoteFiles are the files of a running adapter.
func remoteFiles(base string) filesSource {
	return func(ctx context.Context, q graphite.ExportQuery, use func(*graphite.ExportedFile) error) error {
		req, err := jsonRequest(ctx, base, exportWhisperPath, q)
		if err != nil {
			return err
		}
		resp, err := openAnswer(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if err := readFiles(bufio.NewReaderSize(resp.Body, maxFrameLine), use); err != nil {
			return fmt.Errorf("the answer of %s: %w", req.URL.Redacted(), err)
		}
		return nil
	}
}

// readFiles reads the files of an answer.
func readFiles(from *bufio.Reader, use func(*graphite.ExportedFile) error) error {
	for {
		var f fileFrame
		if err := readHead(from, &f); err != nil {
			return err
		}
		switch {
		case f.Error != "":
			return errors.New(f.Error)
		case f.Done:
			return nil
		case f.Bytes < 0 || f.Bytes > whisper.MaxBytes || f.Reason == "" && !filepath.IsLocal(filepath.FromSlash(f.Path)):
			return fmt.Errorf("a file %q of %d bytes", f.Path, f.Bytes)
		}
		file := &graphite.ExportedFile{Path: f.Path, Points: f.Points, Reason: f.Reason, Data: make([]byte, f.Bytes)}
		if err := readData(from, file.Data); err != nil {
			return err
		}
		if err := use(file); err != nil {
			return err
		}
	}
}

// exportWhisper answers with the files of a query, as they are made.
func (a *adminAPI) exportWhisper(w http.ResponseWriter, r *http.Request) {
	var q graphite.ExportQuery
	err := json.NewDecoder(r.Body).Decode(&q)
	if err == nil {
		err = q.Validate()
	}
	if err != nil {
		badRequest(w, fmt.Errorf("%w: %w", storage.ErrInvalid, err))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	send := func(f fileFrame, data []byte) error {
		f.Bytes = len(data)
		return writeFrame(w, f, data)
	}
	err = a.files(r.Context(), q, func(f *graphite.ExportedFile) error {
		return send(fileFrame{Path: f.Path, Points: f.Points, Reason: f.Reason}, f.Data)
	})
	last := fileFrame{Done: true}
	if err != nil {
		last = fileFrame{Error: err.Error()}
		a.o.Logger.WarnContext(r.Context(), "admin request failed", "path", r.URL.Path, "err", err)
	}
	_ = send(last, nil) // the client misses it
}
