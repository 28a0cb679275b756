package write

import (
	"slices"
	"testing"

	"github.com/prometheus/prometheus/prompb"
)

// A message that is used again keeps no memory of its own labels' copies.
func TestMessageForgetsCopies(t *testing.T) {
	series := func(parts ...[]byte) []byte {
		body := slices.Concat(parts...)
		return append([]byte{requestSeriesV1<<3 | 2, byte(len(body))}, body...)
	}
	field := func(number byte, m interface{ Marshal() ([]byte, error) }) []byte {
		b, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return append([]byte{number<<3 | 2, byte(len(b))}, b...)
	}
	a, b := field(1, &prompb.Label{Name: "a", Value: "1"}), field(1, &prompb.Label{Name: "b", Value: "2"})
	sample := field(2, &prompb.Sample{Value: 1, Timestamp: 1000})
	for _, c := range []struct {
		name   string
		body   []byte
		copied bool
	}{
		{"labels together", series(a, b, sample), false},
		{"labels apart", series(a, sample, b), true},
	} {
		var m message
		if err := m.walk(c.body, messageLimits{series: 9, data: 9}); err != nil {
			t.Fatal(err)
		}
		if m.copies != c.copied || string(m.series[0].block.bytes) != string(slices.Concat(a, b)) {
			t.Errorf("%s: copies %v, labels %q", c.name, m.copies, m.series[0].block.bytes)
		}
		m.reset(version1)
		if kept := m.series[:1][0].block.bytes != nil; kept == c.copied || m.copies {
			t.Errorf("%s: after reset the labels are kept: %v", c.name, kept)
		}
		if m.forget(); m.series[:1][0].block.bytes != nil {
			t.Errorf("%s: forget keeps labels", c.name)
		}
	}
}
