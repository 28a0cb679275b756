package backups

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// verifiedSuffix is the end of the name of the file beside a backup that tells when it was verified. It is not in the
// backup, which must have the listed files alone.
const verifiedSuffix = ".verified.json"

// A verified is what "backup verify" found the last time.
type verified struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Bytes   int64     `json:"bytes"`
	Error   string    `json:"error,omitempty"` // empty: all files are as they were written
}

// maxVerifyError bounds the text of an error that is recorded.
const maxVerifyError = 2000

func verifiedFile(dir string) string { return filepath.Clean(dir) + verifiedSuffix }

// NoteVerified records what a verification found, if it came to an end: an interrupted one, or one of a backup that cannot be
// read now, found nothing.
func (r Record) NoteVerified(ctx context.Context, dir string, begin time.Time, bytes uint64, found error) error {
	if ctx.Err() != nil || found != nil && !errors.Is(found, storage.ErrDamaged) {
		return nil
	}
	now := r.Now()
	v := verified{At: now.UTC(), Seconds: now.Sub(begin).Seconds(), Bytes: int64(bytes)}
	if found != nil {
		v.Error = httpapi.Cut(found.Error(), maxVerifyError)
	}
	return fsutil.WriteState(verifiedFile(dir), v)
}

// found returns what was found of a backup after it was made; nil: it was not verified.
func (b made) found() *verified {
	var v verified
	if found, err := fsutil.ReadState(verifiedFile(b.Path), &v); !found || err != nil || v.At.Before(b.At) {
		return nil
	}
	return &v
}

// now returns a backup as it is now.
func (b made) now() shown {
	_, err := os.Stat(b.Path)
	return shown{b, !errors.Is(err, fs.ErrNotExist), b.found()}
}
