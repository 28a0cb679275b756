package operator

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// A Lane is one goroutine of an operator.
type Lane struct {
	Memory  block.Arena
	Columns [][]float64
	Buckets []promql.Bucket
	samples *subqueryWorker
}

// valuesPerLane is how many values are worth a goroutine.
const valuesPerLane = 32 << 10

// InParallel calls f for n rows, on several cores if there are enough values. f takes memory for b
// from its lane.
func (e *Evaluation) InParallel(b *block.Block, n, values int, f func(l *Lane, i int) error) error {
	lanes := min(runtime.GOMAXPROCS(0), values/valuesPerLane, n)
	if lanes <= 1 {
		l := &Lane{Memory: block.Arena{Account: e.Account}}
		err := e.rows(l, 0, n, f)
		b.Memory.Join(&l.Memory)
		return err
	}
	var group sync.WaitGroup
	all := make([]Lane, lanes)
	errs := make([]error, lanes)
	for k := range all {
		group.Go(func() {
			all[k].Memory.Account = e.Account
			errs[k] = e.rows(&all[k], n*k/lanes, n*(k+1)/lanes, f)
		})
	}
	group.Wait()
	for k := range all {
		b.Memory.Join(&all[k].Memory)
	}
	return firstError(errs)
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// rowsPerLook is after how many rows an operator looks whether the query has ended.
const rowsPerLook = 64

// EndedAt is Ended for the i-th row of an operator. It looks at some rows only.
func (e *Evaluation) EndedAt(i int) error {
	if i%rowsPerLook != 0 {
		return nil
	}
	return e.Ended()
}

func (e *Evaluation) rows(l *Lane, from, to int, f func(l *Lane, i int) error) (err error) {
	defer Recovered(&err)
	for i := from; i < to; i++ {
		if err := e.EndedAt(i - from + 1); err != nil {
			return err
		}
		if err := f(l, i); err != nil {
			return err
		}
	}
	return nil
}

// Recovered makes an error of a panic, as the library does.
func Recovered(err *error) {
	switch p := recover().(type) {
	case nil:
	case runtime.Error:
		*err = fmt.Errorf("unexpected error: %w", p)
	case error:
		*err = p
	default:
		*err = fmt.Errorf("%v", p)
	}
}
