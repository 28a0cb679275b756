package query

import "runtime/metrics"

// coresIdle reports whether no goroutine waits for a core.
func coresIdle() bool {
	sample := []metrics.Sample{{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(sample)
	return sample[0].Value.Kind() == metrics.KindUint64 && sample[0].Value.Uint64() == 0
}
