package write

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/storage"
)

// recordingStore is an Appender and metadataWriter that keeps what it gets, in the order of series
// and times.
type recordingStore struct {
	mu       sync.Mutex // guards all below
	series   []storage.Series
	refs     map[string]storage.Ref
	points   map[storage.Ref]map[int64]float64
	objects  map[storage.Ref][]storage.Object
	metadata map[string]storage.Metadata
	resolved int // series that Resolve was asked for

	// Errors to return, by what is asked for; nil: none.
	resolveErr  func(storage.Series) error
	appendErr   func(context.Context) error
	metadataErr func(metric string) error
}

func newRecordingStore() *recordingStore {
	return &recordingStore{
		refs: map[string]storage.Ref{}, points: map[storage.Ref]map[int64]float64{},
		objects: map[storage.Ref][]storage.Object{}, metadata: map[string]storage.Metadata{},
	}
}

func (s *recordingStore) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refs, errs := make([]storage.Ref, len(series)), make([]error, len(series))
	for i, one := range series {
		s.resolved++
		if s.resolveErr != nil {
			if errs[i] = s.resolveErr(one); errs[i] != nil {
				continue
			}
		}
		name := one.String()
		if s.refs[name] == 0 {
			s.series = append(s.series, one)
			s.refs[name] = storage.Ref(len(s.series))
		}
		refs[i] = s.refs[name]
	}
	if slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
		return refs, errs
	}
	return refs, nil
}

func (s *recordingStore) Append(ctx context.Context, b *storage.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.appendErr != nil {
		if err := s.appendErr(ctx); err != nil {
			return err
		}
	}
	for i, ref := range b.Refs {
		if ref == 0 {
			return errors.New("a point of no series")
		}
		if s.points[ref] == nil {
			s.points[ref] = map[int64]float64{}
		}
		s.points[ref][b.Times[i]] = b.Values[i]
	}
	for _, o := range b.Objects {
		if o.Ref == 0 {
			return errors.New("an object of no series")
		}
		o.Data = slices.Clone(o.Data) // the caller reuses the batch
		s.objects[o.Ref] = append(s.objects[o.Ref], o)
	}
	return nil
}

func (s *recordingStore) PutMetadata(_ context.Context, metadata map[string]storage.Metadata) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.metadataErr != nil {
		for metric := range metadata {
			if err := s.metadataErr(metric); err != nil {
				return err
			}
		}
	}
	maps.Copy(s.metadata, metadata)
	return nil
}

// String prints all that is stored, a series a line.
func (s *recordingStore) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for i, one := range s.series {
		lines = append(lines, one.String()+s.data(storage.Ref(i+1)))
	}
	slices.Sort(lines)
	for _, metric := range slices.Sorted(maps.Keys(s.metadata)) {
		m := s.metadata[metric]
		lines = append(lines, fmt.Sprintf("metadata %s: %s %q %q", metric, m.Type, m.Help, m.Unit))
	}
	if len(lines) == 0 {
		return "nothing\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

func (s *recordingStore) data(ref storage.Ref) string {
	var b strings.Builder
	for _, time := range slices.Sorted(maps.Keys(s.points[ref])) {
		fmt.Fprintf(&b, " %s@%d", formatFloat(s.points[ref][time]), time)
	}
	for _, o := range s.objects[ref] {
		fmt.Fprintf(&b, " %s@%d", formatObject(o), o.Time)
	}
	return b.String()
}

// formatFloat prints NaNs by their bits.
func formatFloat(v float64) string {
	if math.IsNaN(v) {
		return fmt.Sprintf("nan:%x", math.Float64bits(v))
	}
	return fmt.Sprint(v)
}

func formatObject(o storage.Object) string {
	switch o.Kind {
	case storage.KindHistogram:
		if h, fh, err := histogramcodec.DecodeHistogram(o.Data); err == nil && h != nil {
			return "int" + h.String() + fmt.Sprintf("/%d", h.Schema)
		} else if err == nil {
			return "float" + fh.String() + fmt.Sprintf("/%d", fh.Schema)
		}
	case storage.KindExemplar:
		if e, err := histogramcodec.DecodeExemplar(o.Data); err == nil {
			return "exemplar" + e.Labels.String() + "=" + formatFloat(e.Value)
		}
	case storage.KindStartTime:
		if delta, err := histogramcodec.DecodeStartTime(o.Data); err == nil {
			return fmt.Sprintf("start%d", o.Time+delta)
		}
	}
	return "broken:" + hex.EncodeToString(o.Data)
}

// plainNames names series as simply as can be.
type plainNames struct{}

func (plainNames) FromPairs(pairs []storage.Tag) storage.Series {
	var s storage.Series
	for _, l := range pairs {
		if l.Key == model.MetricNameLabel {
			s.Metric = l.Value
		} else {
			s.Tags = append(s.Tags, l)
		}
	}
	return s
}

func (plainNames) MetricName(name string) string { return name }
