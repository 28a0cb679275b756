package pipeline

import (
	"context"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
)

const (
	// refusedTime is how long a name that the store refused is not tried again.
	refusedTime = 30 * time.Second
	// refusedBytes bounds each generation of the names that are remembered.
	refusedBytes = 4 << 20
	// refusedCost is what a name takes in addition to its bytes.
	refusedCost = 64
)

// keptName is how many bytes of a name are kept.
const keptName = 256

// refusedNames remembers for a short while which names the store refused.
type refusedNames struct {
	names *cache.LRU[string, time.Time] // when they were refused
	kept  *rejections.Log
}

func newRefusedNames(kept *rejections.Log) *refusedNames {
	return &refusedNames{kept: kept, names: cache.NewWeightedLRU[string, time.Time](refusedBytes, func(name string, _ time.Time) int { return len(name) + refusedCost })}
}

// holds reports whether a name was refused lately.
func (r *refusedNames) holds(name string, now time.Time) bool {
	at, ok := r.names.Get(name)
	return ok && now.Sub(at) < refusedTime
}

// add remembers a name, and keeps it for those who look for it.
func (r *refusedNames) add(ctx context.Context, name string, err error, now time.Time) {
	r.names.Put(name, now)
	r.kept.Add(ctx, rejections.Sample{Source: rejections.Carbon, Reason: err.Error(), Points: 1}, func() string { return name })
}

// addPoints keeps that points were refused together. name is that of the first one.
func (r *refusedNames) addPoints(ctx context.Context, points int, name []byte, err error) {
	r.kept.Add(ctx, rejections.Sample{Source: rejections.Carbon, Reason: err.Error(), Points: points}, func() string { return string(name[:min(len(name), keptName)]) })
}
