package adapter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// StoreOptions are the flags of the commands for an embedded store.
type StoreOptions struct {
	URL string // --adapter-url: of the adapter that has the store open; empty: from --web.listen-address
	Dir string // of the backup
	Fix bool   // --fix: repair what a check finds
}

func compactAll(ctx context.Context, db kv.KV, o Options) error {
	engine := kv.NewEngine(db, true).Local
	if engine == nil {
		return fmt.Errorf("%s does not compact", o.engineName())
	}
	for _, t := range o.Tables() {
		if err := engine.Compact(ctx, t.Name); err != nil {
			return err
		}
	}
	return nil
}

func diskBytes(db kv.KV) uint64 {
	if engine := kv.NewEngine(db, true).Local; engine != nil {
		return engine.DiskBytes()
	}
	return 0
}

// CompactTables compacts an embedded store, directly or through the adapter that has it open. It
// prints the sizes before and after.
func CompactTables(ctx context.Context, o Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	if err := o.wantEmbedded("tables compact"); err != nil {
		return err
	}
	var sizes compactReply
	db, engine, err := o.openStoreThatIs()
	switch {
	case errors.Is(err, pebble.ErrInUse):
		url, err := o.AdminURL(s.URL)
		if err != nil {
			return err
		}
		if err := admin.Call(ctx, url, compactPath, &sizes); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		sizes.Before = diskBytes(db)
		err = compactAll(ctx, db, o)
		sizes.After = diskBytes(db)
		if err := errors.Join(err, engine.Close()); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%s: %s before, %s after, in %v\n", o.Path, sizeText(sizes.Before), sizeText(sizes.After), took(o, begin))
	return nil
}

// Backup copies the embedded store into a directory that must not exist, directly or through the
// adapter that has it open, which keeps running.
func Backup(ctx context.Context, o Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	if err := o.wantEmbedded("backup"); err != nil {
		return err
	}
	if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.Dir, errors.Join(err, fs.ErrExist))
	}
	moved := ""
	err := backupStopped(ctx, o, s.Dir)
	if errors.Is(err, pebble.ErrInUse) {
		moved, err = backupRunning(ctx, o, s)
	}
	if err != nil {
		return err
	}
	o.noteBackup("backup", s.Dir, moved, begin)
	size, files, err := folderSize(s.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s in %d files, in %v\n", s.Dir, sizeText(size), files, took(o, begin))
	return nil
}

// backupRunning makes the adapter write a snapshot inside of the store, and moves it away. It returns where it was.
func backupRunning(ctx context.Context, o Options, s StoreOptions) (snapshot string, err error) {
	url, err := o.AdminURL(s.URL)
	if err != nil {
		return "", err
	}
	var made snapshotReply
	if err := admin.Call(ctx, url, snapshotPath, &made); err != nil {
		return "", err
	}
	// The name comes from another process and must not lead out of the directory.
	if made.Name == "" || made.Name != filepath.Base(made.Name) {
		return "", fmt.Errorf("%s answers with a snapshot named %q", url, made.Name)
	}
	snapshot = filepath.Join(o.Path, snapshotsDir, made.Name)
	if _, err := os.Stat(snapshot); err != nil {
		return "", fmt.Errorf("%s made a snapshot that is not in --storage.path=%s: %w", url, o.Path, err)
	}
	return snapshot, moveFolder(ctx, snapshot, s.Dir)
}

// backupStopped copies a store that no process has open. First it puts the log that a crash has
// left into the tables, as a start would.
func backupStopped(ctx context.Context, o Options, dir string) error {
	db, engine, err := o.openStoreThatIs()
	if err != nil {
		return err
	}
	if err = putLog(ctx, o, db); err == nil {
		err = makeFolder(filepath.Dir(filepath.Clean(dir)))
	}
	if err == nil {
		err = engine.Checkpoint(ctx, dir)
	}
	return errors.Join(err, engine.Close())
}

// Restore puts a backup into --storage.path, which must be empty.
func Restore(ctx context.Context, o Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	if err := o.wantEmbedded("restore"); err != nil {
		return err
	}
	// A log in another place belongs to another store. Its points would be replayed into this one
	// under wrong series numbers.
	if _, files, err := folderSize(o.logPath()); err == nil && files > 0 {
		return fmt.Errorf("%s holds the log of an earlier store: start the adapter once to put it there, or remove it", o.logPath())
	}
	if _, files, err := folderSize(filepath.Join(s.Dir, "log")); err == nil && files > 0 && o.LogPath != "" {
		return fmt.Errorf("%s is the copy of a store with its log: restore and start it without --write.log.path", s.Dir)
	}
	if err := pebble.Restore(ctx, pebble.Options{Path: o.Path, Logger: o.Logger, Tables: o.Tables()}, s.Dir); err != nil {
		return err
	}
	size, files, err := folderSize(o.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s in %d files, in %v\n", o.Path, sizeText(size), files, took(o, begin))
	return nil
}

// WantStore returns an error if there is no embedded store.
func (o Options) WantStore() error {
	if _, err := os.Stat(o.Path); err != nil {
		return fmt.Errorf("--storage.path: there is no store: %w", err)
	}
	if names, err := filepath.Glob(filepath.Join(o.Path, "marker.manifest.*")); err != nil || len(names) == 0 {
		return fmt.Errorf("--storage.path=%s: there is no store", o.Path)
	}
	return nil
}

// openStoreThatIs opens an embedded store that must exist.
func (o Options) openStoreThatIs() (kv.KV, *pebble.Engine, error) {
	if err := o.WantStore(); err != nil {
		return nil, nil, err
	}
	db, closer, err := o.openEngine(prometheus.NewRegistry(), 0)
	if err != nil {
		return nil, nil, err
	}
	engine, ok := closer.(*pebble.Engine)
	if !ok {
		return nil, nil, errors.Join(fmt.Errorf("%s is not the embedded engine", o.engineName()), closer.Close())
	}
	return db, engine, nil
}
