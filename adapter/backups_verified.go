package adapter

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
	"github.com/tsdbridge/tsdbridge/statefile"
	"github.com/tsdbridge/tsdbridge/storage"
)

// verifiedSuffix is the end of the name of the file beside a backup that tells when it was verified. It is not in the
// backup, which must have the listed files alone.
const verifiedSuffix = ".verified.json"

// A verifiedBackup is what "backup verify" found the last time.
type verifiedBackup struct {
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Bytes   int64     `json:"bytes"`
	Error   string    `json:"error,omitempty"` // empty: all files are as they were written
}

// maxVerifyError bounds the text of an error that is recorded.
const maxVerifyError = 2000

func verifiedFile(dir string) string { return filepath.Clean(dir) + verifiedSuffix }

// noteVerified records what a verification found, if it came to an end: an interrupted one, or one of a backup that cannot be
// read now, found nothing.
func (o Options) noteVerified(ctx context.Context, dir string, begin time.Time, bytes uint64, found error) error {
	if ctx.Err() != nil || found != nil && !errors.Is(found, storage.ErrDamaged) {
		return nil
	}
	now := o.Now()
	v := verifiedBackup{At: now.UTC(), Seconds: now.Sub(begin).Seconds(), Bytes: int64(bytes)}
	if found != nil {
		v.Error = reply.Cut(found.Error(), maxVerifyError)
	}
	return statefile.Write(verifiedFile(dir), v)
}

// verified returns what was found of a backup after it was made; nil: it was not verified.
func (b madeBackup) verified() *verifiedBackup {
	var v verifiedBackup
	if found, err := statefile.Read(verifiedFile(b.Path), &v); !found || err != nil || v.At.Before(b.At) {
		return nil
	}
	return &v
}

// backupsRecord is the list of backups of an embedded store.
func (o Options) backupsRecord() (list []madeBackup, err error) {
	_, err = statefile.Read(filepath.Join(o.Path, snapshotsDir, backupsFile), &list)
	return list, err
}

// shown returns a backup as it is now.
func (b madeBackup) shown() shownBackup {
	_, err := os.Stat(b.Path)
	return shownBackup{b, !errors.Is(err, fs.ErrNotExist), b.verified()}
}

// backupTimes are those of the metrics: of the last backup, and of the last one that was found whole, in nanoseconds since 1970.
type backupTimes struct{ made, verified, damaged atomic.Int64 }

// backupsEvery is how often the record of backups is read for the metrics. They are read apart from scrapes, since the
// backups may be on a file system that hangs.
const backupsEvery = time.Minute

// watchBackups keeps the metrics of backups until ctx ends.
func (a *Adapter) watchBackups(ctx context.Context) error {
	if a.o.Engine != EngineEmbedded {
		return nil
	}
	tick := time.NewTicker(backupsEvery)
	defer tick.Stop()
	for {
		a.backups.read(a.o)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// read takes the times from the record. One that cannot be read changes nothing.
func (t *backupTimes) read(o Options) {
	list, err := o.backupsRecord()
	if err != nil {
		return
	}
	var made, verified time.Time
	damaged := int64(0)
	for _, b := range list {
		if b.At.After(made) {
			made = b.At
		}
		switch v := b.verified(); {
		case v == nil:
		case v.Error != "":
			damaged++
		case v.At.After(verified):
			verified = v.At
		}
	}
	t.made.Store(nanos(made))
	t.verified.Store(nanos(verified))
	t.damaged.Store(damaged)
}

// nanos returns a time in nanoseconds since 1970; 0: there is none.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// register registers the metrics.
func (t *backupTimes) register(r prometheus.Registerer) {
	f := promauto.With(r)
	seconds := func(of *atomic.Int64) func() float64 { return func() float64 { return float64(of.Load()) / 1e9 } }
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_backup_last_made_timestamp_seconds",
		Help: "When the last backup or snapshot of the store was made, in seconds since 1970; 0: none is recorded. Read each minute.",
	}, seconds(&t.made))
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_backup_last_verified_timestamp_seconds",
		Help: "When \"backup verify\" last found a recorded backup whole, in seconds since 1970; 0: never. Read each minute.",
	}, seconds(&t.verified))
	f.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_backup_damaged",
		Help: "Recorded backups that \"backup verify\" found damaged the last time.",
	}, func() float64 { return float64(t.damaged.Load()) })
}
