package source

import (
	"context"
	"log/slog"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Catalog knows series by their TSUIDs. catalog.Catalog is one.
type Catalog interface {
	// Refs names the series that leaves of trees stand for, in order.
	Refs(tsuids [][]byte) ([]storage.Ref, error)
	// NameAll names series, in order. One of which a UID has no name is an error.
	NameAll(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// Trees are walked by paths.
type Trees interface {
	Find(ctx context.Context, pattern string, o forest.FindOptions) ([]forest.Node, error)
	// Edition says whether leaves that Find returned before are still there: as long as it stays the same.
	// ok is false when it does not know.
	Edition() (e forest.Edition, ok bool)
	// Display returns what the paths of a tree show. ok is false when there is no such tree.
	Display(id uint16) (d tree.Display, ok bool)
}

// Options are the parts and limits of sources.
type Options struct {
	Store       storage.Querier
	Catalog     Catalog    // of the same store
	Documents   SeriesMeta // of the same store
	Archives    Archives   // of the same store; nil: it has none
	Trees       Trees
	Names       *translate.Translator
	Schemas     *conf.Schemas      // nil: no name has a rule
	Aggregation *conf.Aggregations // nil: carbon's defaults
	Limits      Limits
	Logger      *slog.Logger     // nil: none
	Now         func() time.Time // nil: time.Now
}

// Limits bound what the targets of one request may read. 0 means no limit.
type Limits struct {
	Series int
	Points int
	Nodes  int // of trees that a pattern may match
}
