package rangeql

import (
	"fmt"
	"runtime"
	"sync"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
)

// A lane is one goroutine of an operator.
type lane struct {
	memory  block.Arena
	columns [][]float64
	buckets []promql.Bucket
	samples *subqueryWorker
}

// valuesPerLane is how many values are worth a goroutine.
const valuesPerLane = 32 << 10

// inParallel calls f for n rows, on several cores if there are enough values. f takes memory for b
// from its lane.
func (e *evaluation) inParallel(b *block.Block, n, values int, f func(l *lane, i int) error) error {
	lanes := min(runtime.GOMAXPROCS(0), values/valuesPerLane, n)
	if lanes <= 1 {
		l := &lane{memory: block.Arena{Account: e.account}}
		err := e.rows(l, 0, n, f)
		b.Memory.Join(&l.memory)
		return err
	}
	var group sync.WaitGroup
	all := make([]lane, lanes)
	errs := make([]error, lanes)
	for k := range all {
		group.Go(func() {
			all[k].memory.Account = e.account
			errs[k] = e.rows(&all[k], n*k/lanes, n*(k+1)/lanes, f)
		})
	}
	group.Wait()
	for k := range all {
		b.Memory.Join(&all[k].memory)
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

func (e *evaluation) rows(l *lane, from, to int, f func(l *lane, i int) error) (err error) {
	defer recovered(&err)
	for i := from; i < to; i++ {
		if (i-from)%rowsPerLook == rowsPerLook-1 {
			if err := e.ended(); err != nil {
				return err
			}
		}
		if err := f(l, i); err != nil {
			return err
		}
	}
	return nil
}

// recovered makes an error of a panic, as the library does.
func recovered(err *error) {
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
