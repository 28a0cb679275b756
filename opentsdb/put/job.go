package put

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// job is the points of one read of a connection, or of one request, on their way into the store.
type job struct {
	*ingest.Job
	in       *Store
	protocol *protocol
}

// add adds a point whose Ref is known, and which is not early.
func (j job) add(ref storage.Ref, p putline.Point) {
	putline.AddPoint(j.Batch, ref, p, j.protocol.floats)
}

// addUnknown adds a point of a series that Find did not know. It calls parse for the series unless
// the job has had the key before. If parse fails, the point is not added.
func (j job) addUnknown(key []byte, p putline.Point, origin int, parse func(key string) (storage.Series, error)) error {
	if err := j.early(p); err != nil {
		return err
	}
	if err := j.Missing(key, origin, parse); err != nil {
		return err
	}
	j.add(0, p)
	return nil
}

// early refuses a point that is too far ahead of the clock.
func (j job) early(p putline.Point) error {
	if p.Time <= j.Latest {
		return nil
	}
	return putline.ArgumentError(fmt.Sprintf("timestamp %d is more than %v in the future (--opentsdb.max-future)", p.Time, j.in.o.MaxFuture))
}
