package graphite

import (
	"os"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// newFeed is the API over the points of the recordings, with the rules that the recorded carbon
// had.
func newFeed(t testing.TB, change ...func(*apiOptions)) *web {
	t.Helper()
	w := newWeb(t, append([]func(*apiOptions){func(o *apiOptions) {
		o.Schemas, o.Aggregation = carbonFiles(t)
	}}, change...)...)
	w.add(t, openFile(t, "eval/testdata/feed.txt.gz"))
	return w
}

func carbonFiles(t testing.TB) (*conf.Schemas, *conf.Aggregations) {
	t.Helper()
	read := func(file string) (string, string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return file, string(text)
	}
	schemas, err := conf.ParseSchemas(read("testdata/carbon/storage-schemas.conf"))
	if err != nil {
		t.Fatal(err)
	}
	aggregations, err := conf.ParseAggregations(read("testdata/carbon/storage-aggregation.conf"))
	if err != nil {
		t.Fatal(err)
	}
	return schemas, aggregations
}
