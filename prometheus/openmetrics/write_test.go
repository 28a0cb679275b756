package openmetrics

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
)

// TestWrite: what is written is read as the same.
func TestWrite(t *testing.T) {
	var text []byte
	var want strings.Builder
	line := 0
	for _, m := range []struct {
		ls   labels.Labels
		meta metadata.Metadata
	}{
		{labels.FromStrings("__name__", "a_total", "x", "1\"\\\nü"), metadata.Metadata{Type: "counter", Help: "So\\me\n\"."}},
		{labels.FromStrings("__name__", "b"), metadata.Metadata{Type: "gauge"}},
		{labels.FromStrings("__name__", "h_bucket", "le", "1"), metadata.Metadata{Type: "histogram"}},
		{labels.FromStrings("__name__", "a.b", "c d", "e"), metadata.Metadata{}},
	} {
		before := len(text)
		text = AppendMetadata(text, m.ls.Get("__name__"), m.meta)
		line += strings.Count(string(text[before:]), "\n")
		for i, v := range []float64{1.5, math.Inf(1), math.Inf(-1), math.NaN(), 5e-324, math.Copysign(0, -1), 1e300} {
			at := int64(1_700_000_000_000 + i*1001)
			text = AppendSample(AppendSeries(text, m.ls), v, at)
			line++
			fmt.Fprintf(&want, "%d %s %v @%d", line, m.ls, v, at)
			switch m.meta.Type {
			case "counter":
				fmt.Fprintf(&want, " of a counter %q %q", m.meta.Help, "")
			case "gauge":
				fmt.Fprintf(&want, " of b gauge %q %q", "", "")
			}
			want.WriteString("\n")
		}
	}
	text = append(text, End...)
	if diff := cmp.Diff(want.String(), printed(t, string(text), Options{})); diff != "" {
		t.Errorf("(-want +got)\n%s\n%s", diff, text)
	}
}
