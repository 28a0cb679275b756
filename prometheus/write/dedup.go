package write

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/tsdbridge/tsdbridge/prometheus/hatracker"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A verdict is what was decided of a replica for a request.
type verdict struct {
	cluster, replica []byte
	keep             bool
	refused          error
}

// deduplicate decides, once for each replica in the request, whether its series are stored, and
// passes over those that are not. A series without both labels is stored as it is.
func (j *incoming) deduplicate(ctx context.Context) error {
	if j.o.Pairs == nil {
		return nil
	}
	j.dropped = append(j.dropped, make([]bool, len(j.req.series))...)
	j.verdicts = map[string]verdict{}
	waits, err := j.judgeSeries(ctx)
	if err != nil || waits == nil {
		return err
	}
	// data of the replica that they wait for may stand after them in the request
	if waits, err = j.judgeSeries(ctx); err != nil {
		return err
	}
	return waits
}

// judgeSeries judges all series. It goes on after one whose sender must wait, and returns why.
func (j *incoming) judgeSeries(ctx context.Context) (waits, err error) {
	clusterLabel, replicaLabel := j.o.Pairs.Labels()
	last, size := verdict{keep: true}, 0
	for i := range j.req.series {
		var v verdict
		v.cluster, v.replica = j.req.pairOf(i, clusterLabel, replicaLabel)
		if len(v.cluster) == 0 || len(v.replica) == 0 {
			continue
		}
		if size += len(v.cluster) + len(v.replica); size > j.o.LabelBytes {
			return nil, httpapi.WithStatus(http.StatusBadRequest, fmt.Errorf("%w: labels of replicas of more than %d bytes", errTooMany, j.o.LabelBytes))
		}
		if !bytes.Equal(v.replica, last.replica) || !bytes.Equal(v.cluster, last.cluster) {
			switch last, err = j.judge(ctx, v); {
			case errors.Is(err, hatracker.ErrWait):
				waits = err
			case err != nil:
				return nil, err
			}
		}
		switch {
		case last.refused != nil:
			j.bad[i] = last.refused
		case !last.keep:
			j.drop(i)
		}
	}
	return waits, nil
}

// judge decides of a replica that is another one than that of the series before.
func (j *incoming) judge(ctx context.Context, v verdict) (verdict, error) {
	key := fmt.Sprintf("%d %s%s", len(v.cluster), v.cluster, v.replica)
	if known, ok := j.verdicts[key]; ok {
		return known, nil
	}
	keep, err := j.o.Pairs.Keep(ctx, v.cluster, v.replica)
	if err != nil && !storage.IsRefusal(err) {
		v.keep = true // nothing of it is dropped
		return v, fmt.Errorf("elect a replica: %w", err)
	}
	v.keep, v.refused = keep, err
	j.verdicts[key] = v
	return v, nil
}

// judged tells of the replicas whose data were kept whether these have been stored.
func (j *incoming) judged(stored bool) {
	for _, v := range j.verdicts {
		if v.keep {
			j.o.Pairs.Done(v.cluster, v.replica, stored)
		}
	}
}

// drop has a series of the request passed over and counts its data.
func (j *incoming) drop(i int) {
	if j.dropped[i] {
		return
	}
	j.dropped[i] = true
	d := j.req.data(i)
	j.deduplicated[kindSample] += int(d.samples.end - d.samples.start)
	j.deduplicated[kindHistogram] += int(d.histograms.end - d.histograms.start)
	j.deduplicated[kindExemplar] += int(d.exemplars.end - d.exemplars.start)
	if j.req.hasMetadata(i) {
		j.deduplicated[kindMetadata]++
	}
}

// isDropped reports whether a series comes from a replica that is not elected.
func (j *incoming) isDropped(i int) bool { return len(j.dropped) > 0 && j.dropped[i] }

// passedOver reports whether a series is not looked up: it is dropped, or refused for its cluster.
func (j *incoming) passedOver(i int) bool {
	return len(j.dropped) > 0 && (j.dropped[i] || j.bad[i] != nil)
}

// withoutReplica removes the replica from the labels of a series that tell its cluster too.
func (j *incoming) withoutReplica(ls []rawLabel) []rawLabel {
	if j.o.Pairs == nil {
		return ls
	}
	cluster, replica := j.o.Pairs.Labels()
	named := func(name string) int {
		return slices.IndexFunc(ls, func(l rawLabel) bool { return string(l.name) == name })
	}
	if at := named(replica); at >= 0 && named(cluster) >= 0 {
		return slices.Delete(ls, at, at+1)
	}
	return ls
}

// pairOf returns the values of two labels of a series; without one of them, or if the labels are
// malformed, they are empty.
func (r *message) pairOf(i int, first, second string) (one, two []byte) {
	if r.version == version2 {
		return r.pairOfV2(i, first, second)
	}
	block := r.series[i].block.bytes
	for at := 0; at < len(block); {
		if end := otherLabel(block, at, first, second); end > at {
			at = end
			continue
		}
		_, wireType, next := wire.ReadTag(block, at)
		if next < 0 {
			return nil, nil
		}
		var field []byte
		if field, at = wire.ReadBytes(block, next, wireType); at < 0 {
			return nil, nil
		}
		l, err := parseLabel(field)
		if err != nil {
			return nil, nil
		}
		take(&one, l, first)
		take(&two, l, second)
	}
	return one, two
}

func (r *message) pairOfV2(i int, first, second string) (one, two []byte) {
	refs := r.refs[r.series[i].refs.start:r.series[i].refs.end]
	for n := 0; n+1 < len(refs); n += 2 {
		if max(int64(refs[n]), int64(refs[n+1])) >= int64(len(r.symbols)) {
			return nil, nil
		}
		l := rawLabel{r.symbols[refs[n]], r.symbols[refs[n+1]]}
		take(&one, l, first)
		take(&two, l, second)
	}
	return one, two
}

// take takes the value of the first label of a name that is not empty.
func take(to *[]byte, l rawLabel, name string) {
	if len(*to) == 0 && string(l.name) == name {
		*to = l.value
	}
}

// otherLabel returns the end of the label at i if it is in its usual form and has neither of two
// names, otherwise i.
func otherLabel(b []byte, i int, first, second string) int {
	if i+3 >= len(b) || b[i] != 1<<3|wire.Bytes || b[i+1] >= 0x80 || b[i+2] != 1<<3|wire.Bytes || b[i+3] >= 0x80 {
		return i
	}
	end, name := i+2+int(b[i+1]), i+4
	nameEnd := name + int(b[i+3])
	if end > len(b) || nameEnd+2 > end || b[nameEnd] != 2<<3|wire.Bytes || nameEnd+2+int(b[nameEnd+1]) != end {
		return i
	}
	if s := b[name:nameEnd]; string(s) == first || string(s) == second {
		return i
	}
	return end
}
