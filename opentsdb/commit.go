package opentsdb

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// committer appends batches, those that come at once in groups.
type committer struct {
	appender storage.Appender
	groups   *ingest.Groups[*storage.Batch, *commitMember] // slots are memory for the appends
}

type commitMember struct {
	batch *storage.Batch
	err   error
}

func newCommitter(a storage.Appender, appends int) *committer {
	c := &committer{appender: a}
	scratch := make([]*storage.Batch, appends)
	for i := range scratch {
		scratch[i] = newBatch()
	}
	c.groups = ingest.NewGroups(scratch, func(m *commitMember) int { return len(m.batch.Refs) }, c.appendGroup, func(members []*commitMember, err error) {
		for _, m := range members {
			m.err = err
		}
	})
	return c
}

// commit returns when the batch is durable, or is refused, or ctx ends before anybody began to append it.
func (c *committer) commit(ctx context.Context, b *storage.Batch) error {
	m := &commitMember{batch: b}
	if err := c.groups.Do(ctx, m); err != nil {
		return err
	}
	return m.err
}

// appendGroup appends batches as one. The store does not say which points of a batch it refuses for good; so then each is appended alone,
// that none pays for another.
func (c *committer) appendGroup(ctx context.Context, scratch *storage.Batch, members []*commitMember) *storage.Batch {
	if len(members) == 1 {
		members[0].err = c.append(ctx, members[0].batch)
		return scratch
	}
	scratch.Reset()
	for _, m := range members {
		join(scratch, m.batch)
	}
	err := c.append(ctx, scratch)
	for _, m := range members {
		m.err = err
		if err != nil && storage.IsRefusal(err) {
			m.err = c.append(ctx, m.batch)
		}
	}
	if cap(scratch.Refs) > 2*ingest.GroupPoints {
		return newBatch()
	}
	return scratch
}

func (c *committer) append(ctx context.Context, b *storage.Batch) error {
	if err := c.appender.Append(ctx, b); err != nil {
		return fmt.Errorf("append %d points: %w", len(b.Refs), err)
	}
	return nil
}
