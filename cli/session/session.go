// Package session gives commands the tables: this process opens them, or a running adapter that has them open answers.
package session

import (
	"cmp"
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/migrate/graphitefiles"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/tablecopy"
	"github.com/tsdbridge/tsdbridge/migrate/tsdtext"
	"github.com/tsdbridge/tsdbridge/opentsdb/client"
	"github.com/tsdbridge/tsdbridge/prometheus/columns"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// Tables are what a command works on: those that this process has opened, or those of a running adapter.
type Tables interface {
	// Name names the tables in the states of commands.
	Name() string
	// AdapterURL returns the URL of the adapter; empty: this process has opened the tables.
	AdapterURL() string
	// Reporter returns what reports the progress of a command of a kind to the adapter; nil if there is none.
	Reporter(kind string) *admin.Reporter

	// Text returns what stores blocks of OpenTSDB's import text, Columns what stores labelled samples, and Parts what stores parts of
	// files of Graphite's databases.
	Text() pipeline.Store
	Columns() func(context.Context, *columns.Batch) error
	Parts() func(context.Context, *graphitefiles.Part) error

	Samples() admin.Samples
	WhisperFiles() admin.FilesSource
	Export(q tsdtext.ExportQuery) (Export, error)
	Copy() Copy

	// UIDs carries out a command about UIDs, and returns its exit code.
	UIDs(ctx context.Context, u admin.UIDRequest, printLine func(string) error) (code int, err error)
	// OpenTSDB returns a client of OpenTSDB's API.
	OpenTSDB() client.Client
}

// An Export is what an export of OpenTSDB's text reads. Behind tells what it has that is not exported; "": nothing that is
// cheap to know.
type Export interface {
	pipeline.Source
	Behind(ctx context.Context) (string, error)
}

// A Copy is the source or the target of a copy.
type Copy interface {
	tablecopy.Target
	tablecopy.Deleter
	tablecopy.Follower
	Source(q admin.CopyQuery) (tablecopy.Source, error)
}

// A Place is where a command finds the tables.
type Place struct {
	Options adapter.Options
	URL     string // --adapter-url: of the adapter; empty: the tables are opened, or the adapter on this machine that has them open answers
}

// Read calls use with tables that exist.
func (p Place) Read(ctx context.Context, use func(context.Context, Tables) error) error {
	return LocalOrRemote(ctx, p, p.opens(ReadLocal), p.remote, use)
}

// Write is Read of commands that bring points: it makes an embedded store that does not exist.
func (p Place) Write(ctx context.Context, use func(context.Context, Tables) error) error {
	return LocalOrRemote(ctx, p, p.opens(WriteLocal), p.remote, use)
}

// opens returns what opens the tables.
func (p Place) opens(open func(context.Context, adapter.Options, func(context.Context, *adapter.Adapter) error) error) Open[Tables] {
	return func(ctx context.Context, use func(context.Context, Tables) error) error {
		return open(ctx, p.Options, func(ctx context.Context, a *adapter.Adapter) error { return use(ctx, local{a, NameOf(p.Options)}) })
	}
}

func (p Place) remote(base string) Tables {
	return remote{base: base, name: cmp.Or(p.URL, NameOf(p.Options))}
}

// An Open opens tables, calls use with them and closes them.
type Open[T any] func(ctx context.Context, use func(context.Context, T) error) error

// LocalOrRemote calls use with the tables as T: those of the adapter of a given URL; without one, those that open opens; or, if another
// process has them open, those of the adapter on this machine.
func LocalOrRemote[T any](ctx context.Context, p Place, open Open[T], remote func(base string) T, use func(context.Context, T) error) error {
	if p.URL == "" {
		opened := false
		err := open(ctx, func(ctx context.Context, t T) error {
			opened = true
			return use(ctx, t)
		})
		if opened || !errors.Is(err, pebble.ErrInUse) {
			return err
		}
	}
	base, err := UserURL(p.Options, p.URL)
	if err != nil {
		return err
	}
	return use(ctx, remote(base))
}
