package blocks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// A Dir is a data directory that is open. Its pieces may be read at the same time.
type Dir struct {
	o       Options
	blocks  []*block
	views   []*view
	wanted  []*group // that have something in the wanted time
	pieces  []piece
	damaged []Damage
}

// A piece is read at once: some of the series of a group of blocks.
type piece struct {
	name  string
	mark  string
	bytes int64
	group *group
	part  int // of the parts of the group
}

// A group is what has samples of the same time: one block, or blocks and the head that overlap, which
// are merged as Prometheus merges them.
type group struct {
	from, to int64
	added    labels.Labels // to its series
	blocks   []*block
	head     bool
	view     *view // in which it is merged, if it is not one block
	wal      bool  // it is the exemplars and metadata of the write-ahead log
	parts    int
}

// How much is in a piece.
const (
	pieceSamples = 1 << 20
	pieceBytes   = 4 << 20
	mostParts    = 1 << 16
)

// Open opens a directory and plans how it is read. What cannot be read of it is in Damaged.
func Open(o Options) (*Dir, error) {
	if !isDir(o.Dir) {
		return nil, fmt.Errorf("%s is not a directory", o.Dir)
	}
	all, err := openBlocks(o)
	if err != nil {
		return nil, err
	}
	d := &Dir{o: o, blocks: all.blocks, damaged: all.damaged}
	groups, err := d.groups()
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if len(d.blocks) == 0 && !d.hasHead() && len(d.damaged) == 0 {
		return nil, errors.Join(fmt.Errorf("%s has no blocks and no write-ahead log: it is not a data directory of Prometheus", o.Dir), d.Close())
	}
	d.plan(groups)
	return d, nil
}

// Close closes all files, and removes what was made in Temp.
func (d *Dir) Close() error {
	var err error
	for _, b := range d.blocks {
		err = errors.Join(err, b.Close())
	}
	for _, v := range d.views {
		err = errors.Join(err, v.close())
	}
	return err
}

// Damaged returns what was found when the directory was opened.
func (d *Dir) Damaged() []Damage { return d.damaged }

// Pieces returns the number of pieces, Piece the name and the bytes of one. They are in the order
// of their names.
func (d *Dir) Pieces() int { return len(d.pieces) }

// Piece returns the name and about how many bytes a piece has. The mark changes with the times of its samples that are read, and
// where the head goes on.
func (d *Dir) Piece(i int) (name, mark string, bytes int64) {
	return d.pieces[i].name, d.pieces[i].mark, d.pieces[i].bytes
}

// Groups returns the number of groups of pieces: what may have samples of the same time is in one.
func (d *Dir) Groups() int { return len(d.wanted) }

// Group returns the name of a group, and the time that its samples are in.
func (d *Dir) Group(i int) (name string, from, to int64) {
	g := d.wanted[i]
	return g.name(), max(g.from, d.o.From), min(g.to, d.o.To)
}

// Blocks returns how many blocks are read.
func (d *Dir) Blocks() int { return len(d.blocks) }

// hasHead reports whether there is a write-ahead log with something in it.
func (d *Dir) hasHead() bool {
	entries, err := os.ReadDir(filepath.Join(d.o.Dir, walDir))
	return err == nil && len(entries) > 0
}

// groups finds what overlaps, in the order of time. Blocks of Thanos whose series get other labels do
// not.
func (d *Dir) groups() (all []*group, err error) {
	sets := map[string][]*block{}
	if d.hasHead() {
		sets[d.o.Labels.String()] = nil
	}
	for _, b := range d.blocks {
		sets[b.labels.String()] = append(sets[b.labels.String()], b)
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		groups, err := d.groupsOf(sets[name], name == d.o.Labels.String() && d.hasHead())
		if err != nil {
			return nil, err
		}
		all = append(all, groups...)
	}
	if d.hasHead() {
		all = append(all, &group{from: math.MinInt64, to: math.MaxInt64, wal: true})
	}
	return all, nil
}

// groupsOf finds what overlaps of blocks whose series get the same labels, and of the head.
func (d *Dir) groupsOf(blocks []*block, head bool) ([]*group, error) {
	var all []*group
	for _, b := range blocks {
		all = append(all, &group{from: b.MinTime(), to: b.to(), blocks: []*block{b}, added: b.labels})
	}
	overlap := len(join(all)) < len(all)
	if !head && !overlap {
		return join(all), nil
	}
	v, err := openView(d.o, blocks, head)
	if err != nil && head {
		d.damaged = append(d.damaged, Damage{"head", err})
		return d.groupsOf(blocks, false)
	}
	if err != nil {
		return nil, fmt.Errorf("open the blocks that overlap: %w", err)
	}
	d.views = append(d.views, v)
	d.damaged = append(d.damaged, v.warns.damage()...)
	all = join(append(all, v.headGroups(d.o.Labels)...))
	for _, g := range all {
		g.view = v
	}
	return all, nil
}

// headGroups returns the times of the head, those of samples that came out of order apart.
func (v *view) headGroups(added labels.Labels) (all []*group) {
	h := v.Head()
	if h.MinTime() <= h.MaxTime() {
		all = append(all, &group{from: h.MinTime(), to: h.MaxTime(), head: true, added: added})
	}
	if h.MinOOOTime() <= h.MaxOOOTime() {
		all = append(all, &group{from: h.MinOOOTime(), to: h.MaxOOOTime(), head: true, added: added})
	}
	return all
}

// join makes one group of those that overlap.
func join(all []*group) (joined []*group) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b *group) int { return cmp.Compare(a.from, b.from) })
	for _, g := range all {
		last := len(joined) - 1
		if last < 0 || g.from > joined[last].to {
			joined = append(joined, &group{from: g.from, to: g.to, blocks: slices.Clone(g.blocks), head: g.head, added: g.added})
			continue
		}
		j := joined[last]
		j.to = max(j.to, g.to)
		j.blocks = append(j.blocks, g.blocks...)
		j.head = j.head || g.head
	}
	return joined
}

// plan cuts groups into pieces. Those outside of the wanted time have none.
func (d *Dir) plan(groups []*group) {
	for _, g := range groups {
		if g.to < d.o.From || g.from > d.o.To {
			continue
		}
		d.wanted = append(d.wanted, g)
		samples, size := d.weigh(g)
		g.parts = int(min(mostParts, max(1, samples/pieceSamples, uint64(size)/pieceBytes)))
		if g.wal {
			g.parts = 1
		}
		for _, b := range g.blocks {
			b.refs.left = g.parts
		}
		mark := d.mark(g)
		for part := range g.parts {
			name := fmt.Sprintf("%06d %s %05d", len(d.pieces), g.name(), part)
			d.pieces = append(d.pieces, piece{name, mark, size / int64(g.parts), g, part})
		}
	}
}

// mark tells what is read of a group.
func (d *Dir) mark(g *group) string {
	from, to := g.from, g.to
	if g.wal {
		from, to = math.MaxInt64, math.MinInt64
		for _, v := range d.views {
			for _, head := range v.headGroups(d.o.Labels) {
				from, to = min(from, head.from), max(to, head.to)
			}
		}
	}
	mark := fmt.Sprintf("%d to %d", max(from, d.o.From), min(to, d.o.To))
	if g.head || g.wal {
		mark += fmt.Sprintf(" of %d bytes", treeSize(filepath.Join(d.o.Dir, walDir))+treeSize(filepath.Join(d.o.Dir, wblDir)))
	}
	return mark
}

// weigh returns about how much is in a group. What meta.json tells of it may be wrong.
func (d *Dir) weigh(g *group) (samples uint64, size int64) {
	for _, b := range g.blocks {
		samples, size = samples+b.Meta().Stats.NumSamples, size+b.Size()
	}
	if g.head || g.wal {
		size += treeSize(filepath.Join(d.o.Dir, walDir)) + treeSize(filepath.Join(d.o.Dir, wblDir))
	}
	return samples, size
}

// name tells what a group is.
func (g *group) name() string {
	switch {
	case g.wal:
		return "wal"
	case g.head && len(g.blocks) == 0:
		return "head"
	case g.head:
		return g.blocks[0].name() + "+head"
	case len(g.blocks) > 1:
		return fmt.Sprintf("%s+%d", g.blocks[0].name(), len(g.blocks)-1)
	}
	return g.blocks[0].name()
}

// treeSize returns the size of the files below a directory, as far as they can be seen.
func treeSize(dir string) (size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // it is an estimate
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return size
}

// Describe returns in a few words what is read.
func (d *Dir) Describe(context.Context) string {
	text := fmt.Sprintf("%d blocks", len(d.blocks))
	if d.hasHead() {
		text += " and the head"
	}
	return text
}
