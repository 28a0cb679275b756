package rules

import (
	"context"
	"errors"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// appendable writes the samples of rules, if this process may.
type appendable struct {
	promstorage.Appendable
	shifts *shifts
}

// Appender implements storage.Appendable of the module.
func (a appendable) Appender(ctx context.Context) promstorage.Appender {
	return appender{a.Appendable.Appender(ctx), ctx, a.shifts}
}

type appender struct {
	promstorage.Appender
	ctx    context.Context //nolint:containedctx // that of the evaluation, as the module has it
	shifts *shifts
}

// Append implements storage.Appender of the module. Alerts of an instant that was evaluated when it was the present stay as
// they were told then.
func (a appender) Append(ref promstorage.SeriesRef, ls labels.Labels, t int64, v float64) (promstorage.SeriesRef, error) {
	if p := passOf(a.ctx); p != nil && p.besideWrote && ls.Get(model.MetricNameLabel) == alertsMetric {
		return ref, nil
	}
	return a.Appender.Append(ref, ls, t, v)
}

// errLost is what the rules of a group say that another process has taken over meanwhile.
var errLost = errors.New("another adapter evaluates this group now")

// Commit implements storage.Appender of the module. The memory of a rule goes back when its samples are durable.
func (a appender) Commit() error {
	account := query.AccountOf(a.ctx)
	defer func() { account.Give(account.Held()) }()
	p := passOf(a.ctx)
	switch {
	case a.shifts.leases == nil:
		return a.Appender.Commit()
	case p == nil:
		return a.markEnded()
	case p.muted:
		return a.Rollback()
	case !p.turn.mayWrite(a.ctx):
		return errors.Join(errLost, a.Rollback())
	}
	err := a.Appender.Commit()
	if err != nil {
		p.failed.Store(true)
	}
	return err
}

// markEnded writes the stale markers of a group that is in no file any more, unless another process goes on with it.
func (a appender) markEnded() error {
	t := a.shifts.ended(a.ctx)
	if t == nil {
		return a.Rollback()
	}
	defer t.release(a.ctx)
	return a.Appender.Commit()
}
