package blocks

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb"
)

// Options are what is read of a directory.
type Options struct {
	Dir string
	// Temp is where a temporary directory may be made.
	Temp string
	// Match selects series: those of any of these. None: all.
	Match [][]*labels.Matcher
	// From and To are the times of samples, in milliseconds; both are included.
	From, To int64
	// Labels are added to each series; those of Thanos in addition, if External is set.
	Labels   labels.Labels
	External bool
}

// Damage is something that cannot be read.
type Damage struct {
	Name string // of the block, or what else it is of
	Err  error
}

// Error tells all.
func (d Damage) Error() string { return d.Name + ": " + d.Err.Error() }

// block is a block that can be read.
type block struct {
	*tsdb.Block

	labels labels.Labels // that are added to its series
	refs   refsOnce
}

// name is that of its directory.
func (b *block) name() string { return filepath.Base(b.Dir()) }

// to is the last time that it may have.
func (b *block) to() int64 { return b.MaxTime() - 1 }

// opened are the blocks of a directory.
type opened struct {
	blocks  []*block // by time, then name
	damaged []Damage
}

// openBlocks opens the blocks of a directory. As in Prometheus, a block of which another one was
// made is left out.
func openBlocks(o Options) (opened, error) {
	entries, err := os.ReadDir(o.Dir)
	if err != nil {
		return opened{}, err
	}
	var all opened
	for _, e := range entries {
		dir := filepath.Join(o.Dir, e.Name())
		if _, err := ulid.ParseStrict(e.Name()); err != nil || !isDir(dir) {
			continue
		}
		b, err := openBlock(dir, o)
		if err != nil {
			all.damaged = append(all.damaged, Damage{e.Name(), err})
			continue
		}
		all.blocks = append(all.blocks, b)
	}
	all.leaveOutParents()
	slices.SortStableFunc(all.blocks, func(a, b *block) int {
		if a.MinTime() != b.MinTime() {
			return int(min(1, max(-1, a.MinTime()-b.MinTime())))
		}
		return strings.Compare(a.name(), b.name())
	})
	return all, nil
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// leaveOutParents closes the blocks of which others were made.
func (all *opened) leaveOutParents() {
	parents := map[string]bool{}
	for _, b := range all.blocks {
		for _, p := range b.Meta().Compaction.Parents {
			parents[p.ULID.String()] = true
		}
	}
	all.damaged = slices.DeleteFunc(all.damaged, func(d Damage) bool { return parents[d.Name] })
	all.blocks = slices.DeleteFunc(all.blocks, func(b *block) bool {
		old := parents[b.name()]
		if old {
			_ = b.Close() // it was only read
		}
		return old
	})
}

// thanosMeta is what Thanos and Mimir add to meta.json.
type thanosMeta struct {
	Thanos struct {
		Labels     map[string]string `json:"labels"`
		Downsample struct {
			Resolution int64 `json:"resolution"`
		} `json:"downsample"`
	} `json:"thanos"`
}

// errDownsampled is of Thanos' blocks of means and counts, which are no samples.
var errDownsampled = errors.New("it is a downsampled block of Thanos; only blocks of samples are read")

func openBlock(dir string, o Options) (*block, error) {
	meta, err := readThanos(dir)
	if err != nil {
		return nil, err
	}
	if meta.Thanos.Downsample.Resolution > 0 {
		return nil, errDownsampled
	}
	var b *tsdb.Block
	if err := guarded(func() (err error) {
		b, err = tsdb.OpenBlock(slog.New(slog.DiscardHandler), dir, nil, nil)
		return err
	}); err != nil {
		return nil, err
	}
	if id := b.Meta().ULID.String(); id != filepath.Base(dir) {
		return nil, errors.Join(fmt.Errorf("meta.json is that of block %s", id), b.Close())
	}
	return &block{Block: b, labels: o.added(meta)}, nil
}

// guarded calls a function of the Prometheus module, which may panic over damaged files.
func guarded(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("damaged: %v", p)
		}
	}()
	return read()
}

func readThanos(dir string) (meta thanosMeta, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return meta, err
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return meta, fmt.Errorf("meta.json: %w", err)
	}
	return meta, nil
}

// added returns the labels that the series of a block get. Mimir keeps its own ones, as
// __org_id__, in the same place.
func (o Options) added(meta thanosMeta) labels.Labels {
	if !o.External {
		return o.Labels
	}
	b := labels.NewBuilder(o.Labels)
	for name, v := range meta.Thanos.Labels {
		if !strings.HasPrefix(name, "__") && !o.Labels.Has(name) {
			b.Set(name, v)
		}
	}
	return b.Labels()
}
