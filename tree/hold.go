package tree

import "context"

// A Forget excludes two operations of its process, both of which take time: reading rows into the
// index, which could bring back what is being deleted, and appending series, which could find a
// branch that is being deleted. Forget takes the lock of reading first. Appending never waits for
// reading.

// observers is how many calls of Observe run at a time; a Forget counts as all of them.
const observers = 1 << 30

// holdShared enters a call that appends series.
func (f *Forest) holdShared(ctx context.Context) (release func(), err error) {
	if err := f.observing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { f.observing.Release(1) }, nil
}

// holdReading enters a call that reads rows into the index.
func (f *Forest) holdReading(ctx context.Context) (release func(), err error) {
	select {
	case f.reading <- struct{}{}:
		return func() { <-f.reading }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// holdAlone enters a Forget.
func (f *Forest) holdAlone(ctx context.Context) (release func(), err error) {
	done, err := f.holdReading(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.observing.Acquire(ctx, observers); err != nil {
		done()
		return nil, err
	}
	return func() { f.observing.Release(observers); done() }, nil
}
