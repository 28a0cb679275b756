package fsck

import (
	"context"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// named is a row whose key has UIDs.
type named struct {
	*findings
	metric, tags []byte
}

// uids walks the UIDs of a row.
func (c *Checker) uids(n named) func(yield func(storage.NameKind, []byte) bool) {
	return func(yield func(storage.NameKind, []byte) bool) {
		if !yield(storage.MetricName, n.metric) {
			return
		}
		for tagk, tagv := range c.o.Layout.Pairs(n.tags) {
			if !yield(storage.TagKeyName, tagk) || !yield(storage.TagValueName, tagv) {
				return
			}
		}
	}
}

// checkNames looks for UIDs without names.
func (c *Checker) checkNames(ctx context.Context, rows []named) error {
	var known [3]map[string]bool
	for k := range known {
		known[k] = map[string]bool{}
	}
	for _, n := range rows {
		for k, uid := range c.uids(n) {
			known[k][string(uid)] = true
		}
	}
	for _, k := range storage.NameKinds() {
		uids := make([]string, 0, len(known[k]))
		for uid := range known[k] {
			uids = append(uids, uid)
		}
		names, err := c.o.Names.Names(ctx, k, uids)
		if err != nil {
			return err
		}
		for i, name := range names {
			known[k][uids[i]] = name != ""
		}
	}
	for _, n := range rows {
		for k, uid := range c.uids(n) {
			if !known[k][string(uid)] {
				n.add(UnknownUID, 1, "%v %X has no name", k, uid)
			}
		}
	}
	return nil
}

// seriesText names a series for people; UIDs without a name stand for themselves.
func (c *Checker) seriesText(ctx context.Context, n named) (string, error) {
	var words []string
	for k, uid := range c.uids(n) {
		names, err := c.o.Names.Names(ctx, k, []string{string(uid)})
		if err != nil {
			return "", err
		}
		if names[0] == "" {
			names[0] = fmt.Sprintf("%X", uid)
		}
		words = append(words, names[0])
	}
	pairs := make([]string, 0, len(words)/2)
	for i := 1; i+1 < len(words); i += 2 {
		pairs = append(pairs, words[i]+"="+words[i+1])
	}
	return words[0] + "{" + strings.Join(pairs, ",") + "}", nil
}
