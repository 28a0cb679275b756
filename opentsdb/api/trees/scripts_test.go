package trees_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestTreeAPI runs the scripts in testdata/trees, each over empty tables:
//
//	GET, POST, PUT, DELETE, PATCH   lines with a path, a blank and a body, if any -> statuses and answers
//	series                          a metric and tags a line -> their TSUIDs
//	definitions                     -> the cells of definitions and rules in tsdb-tree
//	restart                         a new process over the same tables
func TestTreeAPI(t *testing.T) {
	datadriven.Walk(t, "testdata/trees", func(t *testing.T, path string) {
		db := kv.NewMem(storetest.Tables()...)
		p := tsdtest.StartProcess(t, db)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch:
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					target, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
					status, answer := p.Ask(d.Cmd, target, body)
					fmt.Fprintln(&out, strings.TrimSpace(fmt.Sprint(status, " ", timeless(answer))))
				}
				return out.String()
			case "series":
				return series(t, p, d.Input)
			case "definitions":
				return definitions(t, db)
			case "restart":
				p = tsdtest.StartProcess(t, db)
				return ""
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// timeless replaces the times of documents of series.
func timeless(answer string) string {
	return regexp.MustCompile(`"(created|lastReceived)":17[1-9]\d{7}`).ReplaceAllString(answer, `"$1":"now"`)
}

// series registers series, one after the other.
func series(t *testing.T, p *tsdtest.Process, lines string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		s := storage.Series{Metric: words[0]}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			s.Tags = append(s.Tags, storage.Tag{Key: key, Value: value})
		}
		slices.SortFunc(s.Tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
		if _, errs := p.Store.Resolve(t.Context(), []storage.Series{s}); errs != nil {
			t.Fatal(errs)
		}
		tsuid, _, err := p.Store.Catalog().TSUID(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%X\n", tsuid)
	}
	return out.String()
}

// definitions returns the cells of definitions and rules.
func definitions(t *testing.T, db kv.KV) string {
	t.Helper()
	var out strings.Builder
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-tree", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if strings.HasPrefix(string(c.Qualifier), "tree") && len(row.Key) == 2 {
				fmt.Fprintf(&out, "%X %s %s\n", row.Key, c.Qualifier, c.Value)
			}
		}
	}
	return out.String()
}
