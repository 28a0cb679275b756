package tablecopy

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A flakySource has one point. It fails until it has been asked some times.
type flakySource struct {
	value float64
	fails int
	final bool
}

var errFlaky = errors.New("it is away")

func (s *flakySource) failed() error {
	if s.fails == 0 {
		return nil
	}
	s.fails--
	if s.final {
		return pipeline.FinalError{Err: errFlaky}
	}
	return errFlaky
}

func (s *flakySource) Parts(context.Context) ([]string, error) {
	return []string{PartPoints}, s.failed()
}

func (s *flakySource) Ranges(_ context.Context, after pipeline.Range) ([]pipeline.Range, error) {
	if after.Name != "" {
		return nil, s.failed()
	}
	return []pipeline.Range{{Part: PartPoints, Name: "m"}}, s.failed()
}

func (s *flakySource) Read(_ context.Context, _ pipeline.Range, give func(*Block) error) error {
	err := give(&Block{Series: []Series{{Name: storage.Series{Metric: "m"}, Times: []int64{1}, Values: []float64{s.value}}}})
	return errors.Join(err, s.failed())
}

// TestVerifyPatience: a store that fails is asked again, and a range that is compared anew tells its differences once.
func TestVerifyPatience(t *testing.T) {
	for name, c := range map[string]struct {
		from, to flakySource
		patience time.Duration
		fails    bool
		differ   int
	}{
		"equal":        {flakySource{value: 1, fails: 5}, flakySource{value: 1, fails: 3}, time.Minute, false, 0},
		"different":    {flakySource{value: 1, fails: 5}, flakySource{value: 2, fails: 4}, time.Minute, false, 1},
		"for good":     {flakySource{value: 1, fails: 1, final: true}, flakySource{value: 1}, time.Minute, true, 0},
		"too long":     {flakySource{value: 1, fails: 100}, flakySource{value: 1}, time.Minute, true, 0},
		"no patience":  {flakySource{value: 1}, flakySource{value: 1, fails: 1}, 0, true, 0},
		"none is away": {flakySource{value: 1}, flakySource{value: 2}, 0, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				told := 0
				v, err := Verify(t.Context(), VerifyOptions{
					From: &c.from, To: &c.to, Parallel: 1, Sample: 1, Asking: pipeline.Asking{Patience: c.patience, Now: time.Now}, Differs: func(Difference) { told++ },
				})
				if (err != nil) != c.fails || err != nil && !errors.Is(err, errFlaky) {
					t.Fatalf("%v", err)
				}
				if err == nil && (v.Points != 1 || int(v.Differ) != c.differ || told != c.differ) {
					t.Errorf("%+v, %d are told of", v, told)
				}
			})
		})
	}
}
