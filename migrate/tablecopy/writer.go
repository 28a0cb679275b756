package tablecopy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A Writer is a Target that puts blocks into a store. What the store has at the same place is replaced, but for trees; all else
// of the store stays.
type Writer struct {
	s     Store
	known *cache.LRU[string, storage.Ref] // refs of series
}

// knownSeries is how many series a Writer finds without asking the store.
const knownSeries = 200_000

// NewWriter returns a Target of a store.
func NewWriter(s Store) *Writer {
	return &Writer{s: s, known: cache.NewLRU[string, storage.Ref](knownSeries)}
}

// A put is a block that is being put.
type put struct {
	*Writer
	block *Block
	refs  []storage.Ref // of the series; 0: refused
	lost  []Loss
}

// Put implements Target. What the block has lost is not repeated.
func (w *Writer) Put(ctx context.Context, b *Block) ([]Loss, error) {
	p := &put{Writer: w, block: b}
	for _, step := range []func(context.Context) error{
		p.trees, p.names, p.resolve, p.documents, p.points, p.histograms, p.notes, p.archives, p.rolled,
	} {
		if err := step(ctx); err != nil {
			if storage.IsRefusal(err) {
				err = pipeline.FinalError{Err: err}
			}
			return nil, err
		}
	}
	return p.lost, nil
}

// Delete implements Deleter. A series that is not there has nothing to delete.
func (w *Writer) Delete(ctx context.Context, list []Deletion) error {
	for _, d := range list {
		tsuid, ok, err := w.s.Store.Catalog().TSUID(ctx, d.Series)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		refs, err := w.s.Store.Catalog().Refs([][]byte{tsuid})
		if err != nil {
			return err
		}
		for _, s := range d.Spans {
			if _, err := w.s.Store.Delete(ctx, storage.Deletion{Refs: refs, Start: s.From, End: s.To}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *put) lose(what string, reason any) {
	p.lost = append(p.lost, Loss{what, fmt.Sprint(reason)})
}

// trees makes the trees whose names the store has not. Series are placed in them as if they were new.
func (p *put) trees(ctx context.Context) error {
	if len(p.block.Trees) == 0 {
		return nil
	}
	all, err := p.s.Trees.All(ctx)
	if err != nil {
		return err
	}
	have := map[string]tree.Definition{}
	for _, d := range all {
		have[d.Name] = d
	}
	for _, t := range p.block.Trees {
		d, ok := have[t.Tree.Name]
		switch {
		case ok && !sameTree(d, t) && len(d.Rules) > 0:
			p.lose("the tree "+t.Tree.Name, "there is another one of this name, which stays")
			continue
		case ok && (sameTree(d, t) || len(t.Rules) == 0): // without rules it is one that a configuration declares
			continue
		}
		err := p.tree(ctx, d.ID, ok, t)
		if errors.Is(err, forest.ErrDeclared) && isDefault(t) {
			continue // its first series makes it
		}
		if err != nil {
			if !storage.IsRefusal(err) && !errors.Is(err, forest.ErrDeclared) {
				return err
			}
			p.lose("the tree "+t.Tree.Name, err)
		}
	}
	return nil
}

// isDefault tells whether a tree has the rules of the default tree of a configuration: each part of the metric is a branch.
func isDefault(t Tree) bool {
	if len(t.Rules) != 1 {
		return len(t.Rules) == 0
	}
	r := t.Rules[0]
	return r.Type == "METRIC" && r.Level == 0 && r.Order == 0 && r.Separator == `\.`
}

// sameTree tells whether two trees place series in the same way.
func sameTree(d tree.Definition, t Tree) bool {
	if d.StrictMatch != t.Tree.StrictMatch || d.Enabled != t.Tree.Enabled || len(d.Rules) != len(t.Rules) {
		return false
	}
	for i := range d.Rules {
		a, b := d.Rules[i], t.Rules[i]
		a.TreeID, b.TreeID = 0, 0
		if !reflect.DeepEqual(a, b) {
			return false
		}
	}
	return true
}

// tree makes a tree, or goes on with one without rules. It is enabled when it has all of them.
func (p *put) tree(ctx context.Context, id uint16, there bool, t Tree) (err error) {
	if !there {
		made := t.Tree
		made.Enabled = false
		if id, err = p.s.Trees.Create(ctx, made); err != nil {
			return err
		}
	}
	var edits []forest.RuleEdit
	for _, r := range t.Rules {
		if r.Type == "" {
			p.lose(fmt.Sprintf("rule %d:%d of the tree %s", r.Level, r.Order, t.Tree.Name), "it cannot be read")
			continue
		}
		edits = append(edits, forest.RuleEdit{Level: r.Level, Order: r.Order, Change: func(schema.TreeRule, bool) (schema.TreeRule, error) { return r, nil }})
	}
	if err := p.s.Trees.EditRules(ctx, id, edits); err != nil || !t.Tree.Enabled {
		return err
	}
	return p.s.Trees.Edit(ctx, id, func(now *schema.Tree) { now.Enabled = true })
}

// names assigns UIDs, and puts the documents of these.
func (p *put) names(ctx context.Context) error {
	var names [3][]string
	var documents [3][][]byte
	for _, n := range p.block.Names {
		if n.Kind < 0 || int(n.Kind) >= len(names) {
			return fmt.Errorf("%w: a name of the kind %d", storage.ErrInvalid, n.Kind)
		}
		names[n.Kind], documents[n.Kind] = append(names[n.Kind], n.Name), append(documents[n.Kind], n.Document)
	}
	for _, kind := range allKinds() {
		if len(names[kind]) == 0 {
			continue
		}
		if err := p.namesOf(ctx, kind, names[kind], documents[kind]); err != nil {
			return err
		}
	}
	return nil
}

func (p *put) namesOf(ctx context.Context, kind storage.NameKind, names []string, documents [][]byte) error {
	uids, errs := p.s.Store.Names().Assign(ctx, kind, names)
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("the %s %q: %w", kind, names[i], err)
		}
	}
	refused, err := p.s.Store.Documents().PutUIDDocuments(ctx, kind, names, uids, documents)
	for i, reason := range refused {
		p.lose(fmt.Sprintf("the document of the %s %s", kind, names[i]), reason)
	}
	return err
}

// resolve finds the series of the block, and registers new ones.
func (p *put) resolve(ctx context.Context) error {
	p.refs = make([]storage.Ref, len(p.block.Series))
	var unknown []storage.Series
	var at []int
	for i := range p.block.Series {
		s := p.block.Series[i].Name
		if ref, ok := p.known.Get(s.String()); ok {
			p.refs[i] = ref
			continue
		}
		unknown, at = append(unknown, s), append(at, i)
	}
	if len(unknown) == 0 {
		return nil
	}
	refs, errs := p.s.Store.Resolve(ctx, unknown)
	for n, i := range at {
		if errs != nil && errs[n] != nil {
			return fmt.Errorf("the series %s: %w", unknown[n], errs[n])
		}
		p.refs[i] = refs[n]
		p.known.Put(unknown[n].String(), refs[n])
	}
	return nil
}

// documents puts the documents of the series.
func (p *put) documents(ctx context.Context) error {
	var refs []storage.Ref
	var documents [][]byte
	var at []int
	for i := range p.block.Series {
		if d := p.block.Series[i].Document; d != nil {
			refs, documents, at = append(refs, p.refs[i]), append(documents, d), append(at, i)
		}
	}
	if len(refs) == 0 {
		return nil
	}
	refused, err := p.s.Store.Documents().PutSeriesDocuments(ctx, refs, documents)
	for i, reason := range refused {
		p.lose("the document of "+p.block.Series[at[i]].Name.String(), reason)
	}
	return err
}

// batchPoints is about how many points are appended at once.
const batchPoints = 100_000

// points appends the points and objects of the series.
func (p *put) points(ctx context.Context) error {
	batch := &storage.Batch{}
	flush := func() error {
		if len(batch.Refs)+len(batch.Objects) == 0 {
			return nil
		}
		err := p.s.Store.Append(ctx, batch)
		batch.Reset()
		return err
	}
	for i := range p.block.Series {
		addPoints(batch, p.refs[i], &p.block.Series[i])
		if len(batch.Refs)+len(batch.Objects) < batchPoints {
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return flush()
}

func addPoints(batch *storage.Batch, ref storage.Ref, s *Series) {
	integers := s.Integers
	for i, t := range s.Times {
		for len(integers) > 0 && integers[0].Time < t {
			integers = integers[1:]
		}
		if len(integers) > 0 && integers[0].Time == t {
			batch.AddForm(ref, t, math.Float64frombits(uint64(integers[0].Value)), storage.FormInteger)
		} else {
			batch.Add(ref, t, s.Values[i])
		}
	}
	for i := range s.Objects {
		if o := &s.Objects[i]; o.Kind != storage.KindCoded {
			batch.AddObject(ref, o.Time, o.Kind, o.Data)
		}
	}
}

// histograms puts the histograms of OpenTSDB.
func (p *put) histograms(ctx context.Context) error {
	var list []storage.CodedHistogram
	for i := range p.block.Series {
		for _, o := range p.block.Series[i].Objects {
			if o.Kind == storage.KindCoded {
				list = append(list, storage.CodedHistogram{Ref: p.refs[i], Time: o.Time, Millis: o.Millis, Value: o.Data})
			}
		}
	}
	if len(list) == 0 {
		return nil
	}
	return p.s.Store.PutHistograms(ctx, list)
}

// notes puts annotations, those of series under the TSUIDs that these have here.
func (p *put) notes(ctx context.Context) error {
	var list []storage.Annotation
	add := func(what string, tsuid string, documents [][]byte) {
		for _, document := range documents {
			note, err := schema.ParseAnnotation(document)
			if err != nil {
				p.lose("an annotation of "+what, err)
				continue
			}
			note.TSUID = tsuid
			list = append(list, note)
		}
	}
	add("everything", "", p.block.Notes)
	for i := range p.block.Series {
		if s := &p.block.Series[i]; len(s.Notes) > 0 {
			add(s.Name.String(), schema.FormatTSUID(p.s.Store.Catalog().TSUIDOf(p.refs[i])), s.Notes)
		}
	}
	if len(list) == 0 {
		return nil
	}
	_, err := p.s.Store.Annotations().Put(ctx, storage.ReplaceAnnotation, list)
	if !storage.IsRefusal(err) {
		return err
	}
	for i := range list {
		_, err := p.s.Store.Annotations().Put(ctx, storage.ReplaceAnnotation, list[i:i+1])
		switch {
		case storage.IsRefusal(err):
			p.lose(fmt.Sprintf("the annotation of %q at %d", list[i].TSUID, list[i].Start), err)
		case err != nil:
			return err
		}
	}
	return nil
}

// archives puts slots of archives.
func (p *put) archives(ctx context.Context) error {
	for i := range p.block.Series {
		s := &p.block.Series[i]
		if len(s.Slots) == 0 {
			continue
		}
		if p.s.Store.Archives() == nil {
			p.lose("the archives of "+s.Name.String(), "--storage.table.archive is empty there")
			continue
		}
		if err := p.s.Store.Archives().Put(ctx, p.refs[i], s.Slots); err != nil {
			return err
		}
	}
	return nil
}

// rolled puts rolled up values.
func (p *put) rolled(ctx context.Context) error {
	rollups := p.s.Store.Rollups()
	var list []rollup.Point
	for i := range p.block.Series {
		s := &p.block.Series[i]
		refused, reason := 0, error(nil)
		for _, v := range s.Rolled {
			one, err := p.rolledPoint(p.refs[i], v)
			if err != nil {
				refused++
				reason = err
				continue
			}
			list = append(list, one)
		}
		if refused > 0 {
			p.lose(fmt.Sprintf("%d values of %s in %s", refused, s.Name, s.Rolled[0].Interval), reason)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return rollups.Put(ctx, list)
}

// rolledPoint returns a value as the store has it, or why it cannot have it.
func (p *put) rolledPoint(ref storage.Ref, v Rolled) (one rollup.Point, err error) {
	rollups := p.s.Store.Rollups()
	if rollups == nil {
		return one, fmt.Errorf("%w: --storage.rollups is not set there", storage.ErrInvalid)
	}
	interval, ok := rollups.Config().Interval(v.Interval)
	switch {
	case !ok:
		return one, fmt.Errorf("%w: --storage.rollups has no such interval there", storage.ErrInvalid)
	case v.Time < 0 || v.Time%1000 != 0 || v.Time/1000 > math.MaxUint32:
		return one, fmt.Errorf("%w: rolled up values have whole seconds", storage.ErrInvalid)
	}
	one = rollup.Point{Series: ref, Time: uint32(v.Time / 1000), Value: v.Value, Interval: interval, Aggregation: v.Aggregation, Group: v.Group}
	return one, rollups.Check(&one)
}
