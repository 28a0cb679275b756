package histogramcodec

import (
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// LastTime returns the last time that a sample may have, in milliseconds. It is so far ahead of the
// clock as future tells; 0: no limit.
func LastTime(now func() time.Time, future time.Duration) int64 {
	if future == 0 {
		return storage.MaxTime
	}
	return min(storage.MaxTime, now().Add(future).UnixMilli())
}

// TimeError returns why a time outside of 0 to LastTime, in milliseconds, cannot be stored.
func TimeError(at int64, future time.Duration) error {
	switch {
	case at < 0:
		return fmt.Errorf("timestamp %d is negative", at)
	case at > storage.MaxTime:
		return fmt.Errorf("timestamp %d is after the year 2106", at)
	}
	return fmt.Errorf("timestamp %d is more than %v in the future (--write.max-future)", at, future)
}
