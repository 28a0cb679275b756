package tablecopy

import (
	"context"
	"encoding/hex"
	"fmt"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// namesAtOnce is how many names a block has.
const namesAtOnce = 1000

// readTrees gives the definitions of the trees.
func (r *Reader) readTrees(ctx context.Context, give func(*Block) error) error {
	all, err := r.s.Trees.All(ctx)
	if err != nil {
		return err
	}
	var b Block
	for _, d := range all {
		b.Trees = append(b.Trees, Tree{d.Tree, d.Rules})
	}
	return give(&b)
}

// readNames gives the names that have UIDs, with their documents.
func (r *Reader) readNames(ctx context.Context, give func(*Block) error) error {
	var lists [3][]storage.Mapping
	flush := func(kind storage.NameKind) error {
		b, err := r.namesBlock(ctx, kind, lists[kind])
		lists[kind] = lists[kind][:0]
		if err != nil || b.empty() {
			return err
		}
		return give(b)
	}
	err := r.s.Store.Names().Each(ctx, allKinds(), func(m storage.Mapping) error {
		if lists[m.Kind] = append(lists[m.Kind], m); len(lists[m.Kind]) < namesAtOnce {
			return nil
		}
		return flush(m.Kind)
	})
	for _, kind := range storage.NameKinds() {
		if err == nil {
			err = flush(kind)
		}
	}
	return err
}

// namesBlock returns the names of a kind with their documents.
func (r *Reader) namesBlock(ctx context.Context, kind storage.NameKind, list []storage.Mapping) (*Block, error) {
	uids := make([]string, len(list))
	for i, m := range list {
		uids[i] = string(m.UID)
	}
	documents, err := r.s.Store.Documents().UIDDocuments(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	for i, m := range list {
		if m.Name == "" {
			b.Lost = append(b.Lost, Loss{fmt.Sprintf("the %s UID %X", kind, m.UID), "its name is empty"})
			continue
		}
		b.Names = append(b.Names, Name{kind, m.Name, documents[i]})
	}
	return b, nil
}

// readSeries gives the series that are registered, with their documents, and if not all names are copied those of them.
func (r *Reader) readSeries(ctx context.Context, about pipeline.Range, give func(*Block) error) error {
	from, err := hex.DecodeString(about.Name)
	if err != nil {
		return fmt.Errorf("%w: range of series from %q", storage.ErrInvalid, about.Name)
	}
	sent := map[nameKey]bool{}
	return r.s.Store.Catalog().EachTSUID(ctx, storage.SeriesScan{From: from}, func(tsuids [][]byte) error {
		b, err := r.seriesBlock(ctx, tsuids)
		if err == nil && !r.all() {
			err = r.addNames(ctx, b, sent)
		}
		if err != nil {
			return err
		}
		rest := about
		rest.Name = hex.EncodeToString(append(tsuids[len(tsuids)-1], 0))
		b.Rest = &rest
		return give(b)
	})
}

// seriesBlock returns those of some series that are copied.
func (r *Reader) seriesBlock(ctx context.Context, tsuids [][]byte) (*Block, error) {
	account := r.s.Budget.Open()
	defer account.Close()
	ctx = query.WithAccount(ctx, account)
	named, err := r.s.Store.Catalog().NameSeries(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	known := make(map[string]bool, len(named))
	var kept [][]byte
	for _, s := range named {
		known[string(s.TSUID)] = true
		if r.selects(s.Series) {
			kept, b.Series = append(kept, s.TSUID), append(b.Series, Series{Name: s.Series})
		}
	}
	for _, tsuid := range tsuids {
		if !known[string(tsuid)] && r.all() {
			b.Lost = append(b.Lost, Loss{fmt.Sprintf("the series with the TSUID %X", tsuid), "a UID of it has no name"})
		}
	}
	refs, err := r.s.Store.Catalog().Refs(kept)
	if err != nil {
		return nil, err
	}
	documents, err := r.s.Store.Documents().SeriesDocuments(ctx, refs)
	for i := range documents {
		b.Series[i].Document = documents[i]
	}
	return b, err
}

// A nameKey is a name of a kind.
type nameKey struct {
	kind storage.NameKind
	name string
}

// addNames adds the documents of the names of series that were not sent yet.
func (r *Reader) addNames(ctx context.Context, b *Block, sent map[nameKey]bool) error {
	if len(sent) > 1<<16 {
		clear(sent)
	}
	var lists [3][]string
	add := func(kind storage.NameKind, name string) {
		if one := (nameKey{kind, name}); !sent[one] {
			sent[one] = true
			lists[kind] = append(lists[kind], name)
		}
	}
	for i := range b.Series {
		s := &b.Series[i].Name
		add(storage.MetricName, s.Metric)
		for _, tag := range s.Tags {
			add(storage.TagKeyName, tag.Key)
			add(storage.TagValueName, tag.Value)
		}
	}
	for _, kind := range storage.NameKinds() {
		uids, err := r.s.Store.Names().Lookup(ctx, kind, lists[kind])
		if err != nil {
			return err
		}
		documents, err := r.s.Store.Documents().UIDDocuments(ctx, kind, uids)
		if err != nil {
			return err
		}
		for i, name := range lists[kind] {
			if documents[i] != nil {
				b.Names = append(b.Names, Name{kind, name, documents[i]})
			}
		}
	}
	return nil
}

// readNotes gives the global annotations of a range.
func (r *Reader) readNotes(ctx context.Context, about pipeline.Range, give func(*Block) error) error {
	const length = rangeHours * hourMillis
	for about.From <= about.To {
		end := min(about.To, about.From/length*length+length-1)
		b, err := r.notesBlock(ctx, about.From, end)
		if err != nil {
			return err
		}
		b.Rest = nextRange(about, end+1)
		if err := give(b); err != nil {
			return err
		}
		about.From = end + 1
	}
	return nil
}

func (r *Reader) notesBlock(ctx context.Context, from, to int64) (*Block, error) {
	account := r.s.Budget.Open()
	defer account.Close()
	notes, err := r.s.Store.Annotations().List(query.WithAccount(ctx, account), storage.AnnotationRange{From: from, To: to}, 0)
	if err != nil {
		return nil, err
	}
	b := &Block{}
	for _, note := range notes {
		b.Notes = append(b.Notes, schema.AppendAnnotation(nil, note))
	}
	return b, nil
}

func allKinds() []storage.NameKind {
	kinds := storage.NameKinds()
	return kinds[:]
}
