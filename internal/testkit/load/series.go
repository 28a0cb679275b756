package load

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Label is a name and a value.
type Label struct{ Name, Value string }

// A Series is a set of labels with __name__, sorted by name, and generates its values.
type Series struct {
	Labels []Label
	// Host is the number of its host. All samples of a host have the same offset within the step.
	Host int

	kind  kind
	state uint64  // of the random numbers
	value float64 // the last one
	rate  float64 // about how much a counter gains in a step
	share float64 // of a bucket

	counts []uint64 // of the buckets of a histogram
}

// Name returns the metric's name.
func (s *Series) Name() string { return s.Label("__name__") }

// Label returns the value of a label, empty if the series has none of that name.
func (s *Series) Label(name string) string {
	i, ok := slices.BinarySearchFunc(s.Labels, name, func(l Label, n string) int { return cmp.Compare(l.Name, n) })
	if !ok {
		return ""
	}
	return s.Labels[i].Value
}

// ChurnMetric is the name of the series of Shape.Tail. They have a label grp, each value of which
// is shared by a hundred series, and a label pod.
const ChurnMetric = "churn_metric"

// hostSeries makes series number i of the hosts.
func hostSeries(shape Shape, i int) Series {
	host, t := i/SeriesPerHost, templates[i%SeriesPerHost]
	dc := "dc" + strconv.Itoa(host%4)
	s := Series{Host: host, kind: t.kind, state: shape.Seed<<40 + uint64(i)}
	s.label(append([]Label{
		{"__name__", t.name}, {"dc", dc}, {"env", shape.env()}, {"instance", fmt.Sprintf("host-%04d.%s.example.com:9100", host, dc)}, {"job", "node"},
	}, t.labels...))
	s.begin()
	return s
}

// churnSeries makes series number i of the tail. The numbers of its hosts follow those of the first
// hosts.
func churnSeries(shape Shape, hosts, i int) Series {
	dc := "dc" + strconv.Itoa(i/SeriesPerHost%4)
	s := Series{Host: hosts + i/SeriesPerHost, kind: counter, state: shape.Seed<<40 + 1<<39 + uint64(i)}
	s.label([]Label{
		{"__name__", ChurnMetric},
		{"dc", dc},
		{"env", shape.env()},
		{"instance", fmt.Sprintf("churn-%04d.%s.example.com:9100", i/SeriesPerHost, dc)},
		{"job", "node"},
		{"grp", fmt.Sprintf("g%04d", i/100)},
		{"pod", fmt.Sprintf("pod-%06d", i)},
	})
	s.begin()
	return s
}

// BucketMetric is the name of the series of Shape.Buckets: the latencies of fifty handlers on each
// host.
const BucketMetric = "http_request_duration_seconds_bucket"

// bounds are the upper bounds of the buckets of a histogram; a request is in the first so many
// hundredths of the buckets.
var bounds = []struct {
	le         string
	hundredths float64
}{
	{"0.005", 12}, {"0.01", 25}, {"0.025", 40}, {"0.05", 60}, {"0.1", 75}, {"0.25", 86}, {"0.5", 93}, {"1", 97}, {"2.5", 99}, {"+Inf", 100},
}

// bucketSeries makes series number i of the buckets. Those of a histogram have the same random
// numbers.
func bucketSeries(shape Shape, i int) Series {
	histogram, b := i/len(bounds), bounds[i%len(bounds)]
	host := histogram / 50
	dc := "dc" + strconv.Itoa(host%4)
	s := Series{Host: host, kind: bucket, state: shape.Seed<<40 + 1<<38 + uint64(histogram)}
	s.label([]Label{
		{"__name__", BucketMetric},
		{"dc", dc},
		{"env", shape.env()},
		{"handler", fmt.Sprintf("/api/v1/handler%02d", histogram%50)},
		{"instance", fmt.Sprintf("host-%04d.%s.example.com:9100", host, dc)},
		{"job", "api"},
		{"le", b.le},
	})
	s.begin()
	s.share = b.hundredths / 100
	return s
}

func (s *Series) label(labels []Label) {
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	s.Labels = labels
}

// kind is how the values of a series develop.
type kind uint8

const (
	constant    kind = iota
	counter          // whole numbers, 20 % of jitter
	slow             // whole numbers, one more every twentieth step or so
	hundredths       // a counter of seconds
	pages            // a gauge of bytes, multiples of 4096
	load             // a gauge of hundredths
	bucket           // a counter, of which the value is a share
	explicit         // a histogram with bounds; the value is its sum
	exponential      // a histogram with exponential buckets
)

// begin sets the first value.
func (s *Series) begin() {
	switch s.kind {
	case constant:
		if s.random()%2 == 0 {
			s.value = float64(s.random() % (1 << 36))
		}
	case counter, bucket:
		s.rate, s.value = math.Exp(10*s.fraction()), math.Floor(s.fraction()*1e9)
	case explicit, exponential:
		s.rate = math.Exp(10 * s.fraction())
	case hundredths:
		s.rate, s.value = 0.1+14*s.fraction(), math.Floor(s.fraction()*1e6)
	case pages:
		s.value = float64(1<<18+s.random()%(1<<22)) * 4096
	case load:
		s.value = 2
	case slow:
	}
}

// next returns the value of the next step.
func (s *Series) next() float64 {
	switch s.kind {
	case counter:
		s.value += math.Floor(s.rate * (0.8 + 0.4*s.fraction()))
	case slow:
		if s.random()%20 == 0 {
			s.value++
		}
	case hundredths:
		s.value = math.Round((s.value+s.rate*(0.5+s.fraction()))*100) / 100
	case pages:
		if s.value += (float64(s.random()%513) - 256) * 4096; s.value < 0 {
			s.value = 1 << 30
		}
	case load:
		s.value = math.Round(math.Abs(s.value+(s.fraction()-0.5)/5)*100) / 100
	case bucket:
		s.value += math.Floor(s.rate * (0.8 + 0.4*s.fraction()))
		return math.Floor(s.value * s.share)
	case explicit, exponential:
		return s.observe()
	case constant:
	}
	return s.value
}

// random is SplitMix64: it needs 8 bytes for each series and accepts any state.
func (s *Series) random() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// fraction is at least 0 and less than 1.
func (s *Series) fraction() float64 { return float64(s.random()>>11) / (1 << 53) }
