// Package fetch reads samples of another server by remote read, into columns. It stores nothing.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	config "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// Options tell how a server is asked.
type Options struct {
	URL     string // of its remote read, with a user and a password if it wants them
	Headers map[string]string
	Timeout time.Duration // of a request
}

// A Client asks a server. It is safe for concurrent use.
type Client struct{ read remote.ReadClient }

// frameBytes bounds a frame of an answer.
const frameBytes = 64 << 20

// New returns a client.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%s is not a URL of http or https", o.URL)
	}
	c := &remote.ClientConfig{Timeout: model.Duration(o.Timeout), Headers: o.Headers, ChunkedReadLimit: frameBytes}
	c.HTTPClientConfig = config.DefaultHTTPClientConfig
	if u.User != nil {
		password, _ := u.User.Password()
		c.HTTPClientConfig.BasicAuth = &config.BasicAuth{Username: u.User.Username(), Password: config.Secret(password)}
		u.User = nil
	}
	c.URL = &config.URL{URL: u}
	read, err := remote.NewReadClient("tsdbridge", c)
	if err != nil {
		return nil, err
	}
	return &Client{read}, nil
}

// batchSize is how large a batch is that is given, about in samples.
const batchSize = 100_000

// A Query selects series that match all of some matchers, and none of others, and times in milliseconds, both included.
type Query struct {
	From, To int64
	Match    []*labels.Matcher
	Not      [][]*labels.Matcher
	// Bad is told of histograms that cannot be stored, which are left out; nil: they are an error.
	Bad func(error)
}

// Read gives the samples of series. It uses the batch again when give returns. An error may come after some of them.
func (c *Client) Read(ctx context.Context, q Query, give func(*columns.Batch) error) error {
	query, err := remote.ToQuery(q.From, q.To, q.Match, nil)
	if err != nil {
		return err
	}
	set, err := c.read.Read(ctx, query, false)
	if err != nil {
		return fmt.Errorf("remote read: %w", err)
	}
	b := &columns.Batch{}
	f := columns.Filler{Batch: b, From: q.From, To: q.To}
	var it chunkenc.Iterator
	for set.Next() {
		series := set.At()
		if columns.AnyMatches(q.Not, series.Labels()) {
			continue
		}
		it = series.Iterator(it)
		if err := f.Add(b.Series(series.Labels()), it); err != nil {
			_, bad := errors.AsType[*columns.BadHistogramsError](err)
			err = fmt.Errorf("%s: %w", series.Labels(), err)
			if !bad || q.Bad == nil {
				return err
			}
			q.Bad(err)
		}
		if b.Size() >= batchSize {
			if err := give(b); err != nil {
				return err
			}
			b.Reset()
		}
	}
	if err := set.Err(); err != nil {
		return fmt.Errorf("the answer of the remote read: %w", err)
	}
	if b.Empty() {
		return nil
	}
	return give(b)
}
