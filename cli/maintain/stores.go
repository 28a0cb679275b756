package maintain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/backups"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// StoreOptions are the flags of the commands for an embedded store.
type StoreOptions struct {
	URL string // --adapter-url: of the adapter that has the store open; empty: from --web.listen-address
	Dir string // of the backup
}

// CompactTables compacts an embedded store, directly or through the adapter that has it open. It
// prints the sizes before and after.
func CompactTables(ctx context.Context, o adapter.Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	if err := o.WantEmbedded("tables compact"); err != nil {
		return err
	}
	sizes, err := tables.Compact(ctx, o.Options)
	if errors.Is(err, pebble.ErrInUse) {
		var url string
		if url, err = session.UserURL(o, s.URL); err == nil {
			sizes, err = admin.RemoteStore{Base: url}.Compact(ctx)
		}
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s before, %s after, in %v\n", o.Path, sizeText(sizes.Before), sizeText(sizes.After), took(o, begin))
	return nil
}

// Backup copies the embedded store into a directory that must not exist, directly or through the
// adapter that has it open, which keeps running.
func Backup(ctx context.Context, o adapter.Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	if err := o.WantEmbedded("backup"); err != nil {
		return err
	}
	if _, err := os.Lstat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", s.Dir, errors.Join(err, fs.ErrExist))
	}
	moved := ""
	err := tables.BackUp(ctx, o.Options, s.Dir)
	if errors.Is(err, pebble.ErrInUse) {
		moved, err = backupRunning(ctx, o, s)
	}
	if err != nil {
		return err
	}
	o.Backups().Note(backups.Backup, s.Dir, moved, begin)
	size, files, err := fsutil.DirSize(s.Dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s in %d files, in %v\n", s.Dir, sizeText(size), files, took(o, begin))
	return nil
}

// backupRunning makes the adapter write a snapshot inside of the store, and moves it away. It returns where it was.
func backupRunning(ctx context.Context, o adapter.Options, s StoreOptions) (snapshot string, err error) {
	url, err := session.UserURL(o, s.URL)
	if err != nil {
		return "", err
	}
	name, err := admin.RemoteStore{Base: url}.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	snapshot = filepath.Join(o.Backups().Snapshots(), name)
	if _, err := os.Stat(snapshot); err != nil {
		return "", fmt.Errorf("%s made a snapshot that is not in --storage.path=%s: %w", url, o.Path, err)
	}
	return snapshot, fsutil.MoveDir(ctx, snapshot, s.Dir)
}

// Restore puts a backup into --storage.path, which must be empty.
func Restore(ctx context.Context, o adapter.Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	if err := o.WantEmbedded("restore"); err != nil {
		return err
	}
	// A log in another place belongs to another store. Its points would be replayed into this one
	// under wrong series numbers.
	if _, files, err := fsutil.DirSize(o.LogFolder()); err == nil && files > 0 {
		return fmt.Errorf("%s holds the log of an earlier store: start the adapter once to put it there, or remove it", o.LogFolder())
	}
	if _, files, err := fsutil.DirSize(filepath.Join(s.Dir, "log")); err == nil && files > 0 && o.LogPath != "" {
		return fmt.Errorf("%s is the copy of a store with its log: restore and start it without --write.log.path", s.Dir)
	}
	if err := pebble.Restore(ctx, pebble.Options{Path: o.Path, Logger: o.Logger, Tables: o.Tables()}, s.Dir); err != nil {
		return err
	}
	size, files, err := fsutil.DirSize(o.Path)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s in %d files, in %v\n", o.Path, sizeText(size), files, took(o, begin))
	return nil
}

// VerifyBackup reads all files of a backup and compares them with the checksums from when it was
// made. What it finds is recorded beside the backup.
func VerifyBackup(ctx context.Context, o adapter.Options, s StoreOptions, out io.Writer) error {
	begin := o.Now()
	found := pebble.Verify(ctx, s.Dir)
	size, files, err := fsutil.DirSize(s.Dir)
	if err := o.Backups().NoteVerified(ctx, s.Dir, begin, size, found); err != nil {
		fmt.Fprintf(out, "that the backup was verified could not be recorded: %v\n", err)
	}
	if err := cmp.Or(found, err); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s in %d files are as they were written, in %v\n", s.Dir, sizeText(size), files, took(o, begin))
	return nil
}

// sizeText formats bytes for people.
func sizeText(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}

func took(o adapter.Options, begin time.Time) time.Duration {
	return o.Now().Sub(begin).Round(time.Millisecond)
}
