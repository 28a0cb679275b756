package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// nameFiles are the files of carbon that say which names are taken, and what becomes of them.
type nameFiles struct {
	Whitelist, Blacklist, Rewrites, Aggregation string // empty: none
}

// The flags of the files.
const (
	flagWhitelist   = "--carbon.whitelist"
	flagBlacklist   = "--carbon.blacklist"
	flagRewrites    = "--carbon.rewrite-rules"
	flagAggregation = "--carbon.aggregation-rules"
)

// nameFiles are those of the flags.
func (o Options) nameFiles() nameFiles {
	return nameFiles{o.Whitelist, o.Blacklist, o.Rewrites, o.Aggregation.Rules}
}

// any reports whether there is a file.
func (f nameFiles) any() bool { return f.Whitelist+f.Blacklist+f.Rewrites+f.Aggregation != "" }

// namesEvery is how often it is looked whether the files have changed. It is carbon's.
const namesEvery = 10 * time.Second

// Rules decide about the names that carbon's senders send. It is safe for concurrent use; nil takes
// all names as they are.
type Rules struct {
	files   nameFiles
	logger  *slog.Logger
	current atomic.Pointer[ruleset]
}

// ruleset is what the files said at one time.
type ruleset struct {
	white, black *conf.NameList
	rewrites     *conf.Rewrites
	aggregation  *conf.AggregationRules
	read         map[string]fileVersion
	// dropped are names that a list drops, so that their next points cost little.
	dropped *cache.LRU[string, error]
}

// fileVersion tells whether a file has changed.
type fileVersion struct {
	modified time.Time
	size     int64
}

// Errors of names that are not taken.
var (
	errBlacklisted    = errors.New("the name is in " + flagBlacklist)
	errNotWhitelisted = errors.New("the name is not in " + flagWhitelist)
)

// NewRules reads the files of options; nil without any. An error names the flag.
func NewRules(o Options, logger *slog.Logger) (*Rules, error) { return newRules(o.nameFiles(), logger) }

// newRules reads the files; nil without any.
func newRules(files nameFiles, logger *slog.Logger) (*Rules, error) {
	if !files.any() {
		return nil, nil
	}
	r := &Rules{files: files, logger: logger}
	rules, err := r.load()
	if err != nil {
		return nil, err
	}
	r.current.Store(rules)
	return r, nil
}

// load reads the files.
func (r *Rules) load() (*ruleset, error) {
	rules := &ruleset{
		read:    map[string]fileVersion{},
		dropped: cache.NewWeightedLRU[string, error](refusedBytes, func(name string, _ error) int { return len(name) + refusedCost }),
	}
	for _, file := range []struct {
		flag, path string
		parse      func(path, text string) (skipped []error, err error)
	}{
		{flagWhitelist, r.files.Whitelist, func(path, text string) ([]error, error) {
			rules.white = conf.ParseNameList(path, text)
			return rules.white.Skipped(), nil
		}},
		{flagBlacklist, r.files.Blacklist, func(path, text string) ([]error, error) {
			rules.black = conf.ParseNameList(path, text)
			return rules.black.Skipped(), nil
		}},
		{flagRewrites, r.files.Rewrites, func(path, text string) ([]error, error) {
			rules.rewrites = conf.ParseRewrites(path, text)
			return rules.rewrites.Skipped(), nil
		}},
		{flagAggregation, r.files.Aggregation, func(path, text string) (_ []error, err error) {
			rules.aggregation, err = conf.ParseAggregationRules(path, text)
			return nil, err
		}},
	} {
		if file.path == "" {
			continue
		}
		version, err := versionOf(file.path) // before it is read: a change in between is read once more
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.flag, err)
		}
		text, err := fsutil.ReadRegular(file.path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.flag, err)
		}
		rules.read[file.path] = version
		skips, err := file.parse(file.path, string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.flag, err)
		}
		for _, skipped := range skips {
			r.logger.Warn("a line of carbon's configuration is ignored, as in carbon; correct or remove it", "err", skipped)
		}
	}
	return rules, nil
}

func versionOf(path string) (fileVersion, error) {
	info, err := os.Stat(path)
	if err != nil {
		return fileVersion{}, err
	}
	return fileVersion{info.ModTime(), info.Size()}, nil
}

// watch reads the files again when they have changed, and calls changed then. A file that cannot be read
// leaves the rules as they are.
func (r *Rules) watch(ctx context.Context, changed func()) error {
	look := time.NewTicker(namesEvery)
	defer look.Stop()
	for failing := false; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-look.C:
		}
		if !r.stale() {
			continue
		}
		rules, err := r.load()
		if err != nil {
			if !failing {
				r.logger.WarnContext(ctx, "carbon's rules of names cannot be read again, the old ones hold; correct the file", "err", err)
			}
			failing = true
			continue
		}
		failing = false
		r.current.Store(rules)
		changed()
		r.logger.InfoContext(ctx, "carbon's rules of names have changed and were read again")
	}
}

// stale reports whether a file is not what it was.
func (r *Rules) stale() bool {
	for path, was := range r.current.Load().read {
		if now, err := versionOf(path); err != nil || now != was {
			return true
		}
	}
	return false
}

// Of returns the name by which the points of a name are aggregated, and the one under which they are stored.
// The lists are about names as they are sent; errBlacklisted and errNotWhitelisted mean that one drops it.
func (r *Rules) Of(name string) (aggregated, stored string, err error) {
	if r == nil {
		return name, name, nil
	}
	rules := r.current.Load()
	if err, known := rules.dropped.Get(name); known {
		return "", "", err
	}
	if err = rules.drops(name); err != nil {
		if isFiltered(err) {
			rules.dropped.Put(name, err)
		}
		return "", "", err
	}
	aggregated, stored, err = rules.rewrites.Apply(name)
	if longer := max(len(aggregated), len(stored)); err == nil && longer > carbon.MaxLine {
		err = fmt.Errorf("%s: they make a name of %d bytes, at most %d are taken", flagRewrites, longer, carbon.MaxLine)
	}
	return aggregated, stored, err
}

// Aggregation returns the rules of aggregation as they are now, nil without any.
func (r *Rules) Aggregation() *conf.AggregationRules {
	if r == nil {
		return nil
	}
	return r.current.Load().aggregation
}

// drops returns why a name is not taken.
func (r *ruleset) drops(name string) error {
	found, err := r.black.Has(name)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", flagBlacklist, err)
	case found:
		return errBlacklisted
	case r.white.Empty():
		return nil
	}
	if found, err = r.white.Has(name); err != nil {
		return fmt.Errorf("%s: %w", flagWhitelist, err)
	} else if !found {
		return errNotWhitelisted
	}
	return nil
}
