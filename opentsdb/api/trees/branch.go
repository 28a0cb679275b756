package trees

import (
	"context"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// mostListed bounds the branches and leaves of one answer.
const mostListed = 200_000

// treeBranch answers /api/tree/branch: it shows a branch and what is directly below it.
func (a *API) treeBranch(w http.ResponseWriter, r *httpapi.Request) error {
	if r.Verb != http.MethodGet {
		return errTreeMethod
	}
	row, err := branchRow(r)
	if err != nil {
		return err
	}
	return a.evaluator.Compute(r.Context(), r.RemoteAddr, "branch "+r.URL.RawQuery, func(ctx context.Context) error {
		l, ok, err := a.o.Trees.List(ctx, row, mostListed)
		if err != nil {
			return err
		}
		if !ok {
			return httpapi.Error{
				Status: http.StatusNotFound, Message: fmt.Sprintf("Unable to locate branch '%X' for tree '%d'", row, treeOf(row)),
			}
		}
		shown, err := a.showListing(ctx, l)
		if err != nil {
			return err
		}
		httpapi.WriteJSON(w, r.Request, http.StatusOK, shown)
		return nil
	})
}

// branchRow returns the row of the branch that is asked for: by its id, or the root of a tree.
func branchRow(r *httpapi.Request) ([]byte, error) {
	v := r.Values()
	id, err := treeID(v)
	if err != nil {
		return nil, err
	}
	switch text, _ := v.Last("branch"); {
	case text != "":
		return parseBranchID(text)
	case id < 1:
		return nil, httpapi.BadRequest("Missing or invalid branch and tree IDs")
	case id > schema.MaxTreeID:
		return nil, httpapi.Illegal("Missing or invalid tree ID")
	}
	return schema.TreeRow(uint16(id)), nil
}

// parseBranchID reads the id of a branch, which is its row in hexadecimal.
func parseBranchID(text string) ([]byte, error) {
	if len(text) < 4 {
		return nil, httpapi.Illegal("Branch ID was too short")
	}
	return parseHex(text)
}

// parseHex reads hexadecimal digits, an odd number of them as if there was a 0 before.
func parseHex(text string) ([]byte, error) {
	if len(text)%2 != 0 {
		text = "0" + text
	}
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, httpapi.Illegal(fmt.Sprintf("contains illegal character for hexBinary: %.100s", text))
	}
	return b, nil
}

// treeOf returns the number of the tree in a row.
func treeOf(row []byte) int { return int(row[0])<<8 | int(row[1]) }

// showListing names the series of the leaves. Leaves whose series have no name are left out.
func (a *API) showListing(ctx context.Context, l forest.Listing) (*shownBranch, error) {
	if err := query.AccountOf(ctx).Take(branchBytes * int64(len(l.Branches)+len(l.Leaves))); err != nil {
		return nil, err
	}
	id := uint16(treeOf(l.Row))
	shown := showBranch(id, l.Branch, l.Row)
	for _, b := range l.Branches {
		shown.Branches = append(shown.Branches, showBranch(id, b.Branch, b.Row))
	}
	for leaves := range slices.Chunk(l.Leaves, namedAtOnce) {
		named, err := a.nameSeries(ctx, leaves)
		if err != nil {
			return nil, err
		}
		for _, leaf := range leaves {
			if s, ok := named[string(leaf.TSUID)]; ok {
				shown.Leaves = append(shown.Leaves, shownLeaf{s.Metric, tagMap(s), schema.FormatTSUID(leaf.TSUID), leaf.DisplayName})
			}
		}
	}
	return shown, nil
}

// branchBytes is what a branch or a leaf takes in an answer and before, by estimate.
const branchBytes = 1 << 10

// namedAtOnce bounds the series whose names are in memory twice.
const namedAtOnce = 4096

// nameSeries names the series of leaves, by TSUIDs.
func (a *API) nameSeries(ctx context.Context, leaves []schema.Leaf) (map[string]storage.Series, error) {
	tsuids := make([][]byte, len(leaves))
	for i, leaf := range leaves {
		tsuids[i] = leaf.TSUID
	}
	all, err := a.o.Series.NameSeries(ctx, tsuids)
	if err != nil {
		return nil, err
	}
	named := make(map[string]storage.Series, len(all))
	for _, s := range all {
		named[string(s.TSUID)] = s.Series
	}
	return named, nil
}

func tagMap(s storage.Series) map[string]string {
	tags := make(map[string]string, len(s.Tags))
	for _, tag := range s.Tags {
		tags[tag.Key] = tag.Value
	}
	return tags
}
