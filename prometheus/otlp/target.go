package otlp

import (
	"cmp"
	"context"
	"fmt"
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/appendable"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A target is the series target_info of a resource; ref is 0 if it has none.
type target struct{ ref storage.Ref }

// targetName is the name of that series.
const targetName = "target_info"

// targetSamples is how many samples of target_info a resource gets from a request: those of a week.
// Two points that are years apart would make millions.
const targetSamples = 4096

// addTargets adds target_info for each resource with points: at the earliest and the latest of their
// times, and in between so that each lookback has two.
func (j *job) addTargets(ctx context.Context) error {
	for i := range j.resources {
		r := &j.resources[i]
		if !r.points {
			continue
		}
		t, err := j.target(ctx, r)
		if err != nil {
			return err
		}
		if t.ref == 0 {
			continue
		}
		step := cmp.Or(j.o.Lookback, DefaultOptions().Lookback).Milliseconds() / 2
		for at := max(r.earliest, r.latest-step*targetSamples); at < r.latest; at += max(1, step) {
			j.batch.Add(t.ref, at, 1)
		}
		j.batch.Add(t.ref, r.latest, 1)
	}
	return nil
}

// target returns the target of a resource.
func (j *conversion) target(ctx context.Context, r *resource) (*target, error) {
	if t, ok := j.of.targets.Get(string(r.raw)); ok {
		return t, nil
	}
	s, err := j.convertTarget(r)
	if err != nil {
		return nil, err
	}
	t := &target{}
	if s != nil {
		if err := j.resolveTarget(ctx, t, s); err != nil {
			return nil, err
		}
	}
	j.of.targets.Put(string(r.raw), t)
	return t, nil
}

// convertTarget has the module make target_info, from a request with one point; nil: there is none.
func (j *conversion) convertTarget(r *resource) (*convertedSample, error) {
	if err := new(attributesCheck).message(r.raw, 1); err != nil {
		return nil, httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("resource: %w", err))
	}
	point := wire.AppendDoubleAlways(nil, 3, 0)
	metric := appendMessage(appendMessage(nil, 1, []byte("any")), kindGauge, appendMessage(nil, 1, point))
	before := len(j.captured.samples)
	settings := j.of.settings
	settings.DisableTargetInfo = false
	if err := j.runModule(encodeRequest(r.raw, appendMessage(nil, 2, metric)), settings); err != nil {
		j.nameTarget(err)
		return nil, nil //nolint:nilnil,nilerr // the points are stored without it
	}
	for i := before; i < len(j.captured.samples); i++ {
		if s := &j.captured.samples[i]; s.options.MetricFamilyName == targetName {
			return s, nil
		}
	}
	return nil, nil //nolint:nilnil // the resource has nothing to tell
}

// resolveTarget sets the Ref of a target, unless its labels or the store refuse it.
func (j *conversion) resolveTarget(ctx context.Context, t *target, s *convertedSample) error {
	if err := appendable.CheckLabels(s.labels, int(s.labels.ByteSize()), j.o.SeriesBytes); err != nil {
		j.nameTarget(err)
		return nil
	}
	refs, errs := j.o.Appender.Resolve(ctx, []storage.Series{j.o.Names.FromLabels(s.labels)})
	if errs != nil && errs[0] != nil {
		if storage.IsRefusal(errs[0]) {
			j.nameTarget(errs[0])
			return nil
		}
		return fmt.Errorf("resolve series: %w", errs[0])
	}
	t.ref = refs[0]
	j.describe(s)
	return nil
}

// nameTarget names why target_info is not stored.
func (j *conversion) nameTarget(err error) {
	j.reasons++
	if len(j.culprits) < maxCulprits {
		j.culprits = append(j.culprits, culprit{targetName, err.Error()})
	}
}
