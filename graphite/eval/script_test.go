package eval

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// firstPoint is where the points of a script begin.
const firstPoint = 1741046410

// TestScripts runs `load` and `eval` scripts, one for each group of functions.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		m := &memory{series: map[string]*stored{}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "load":
				m.load(t, d)
				return ""
			case "eval":
				return evalScript(m, d)
			}
			d.Fatalf(t, "unknown command %s", d.Cmd)
			return ""
		})
	})
}

func (m *memory) load(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	for line := range strings.SplitSeq(d.Input, "\n") {
		fields := strings.Fields(line)
		for i, f := range fields[1:] {
			if f == "_" {
				continue
			}
			v, err := strconv.ParseFloat(f, 64)
			if err != nil {
				d.Fatalf(t, "%s: %v", line, err)
			}
			m.add(fields[0], firstPoint+int64(i)*stepOf(fields[0]), v)
		}
	}
}

func evalScript(m *memory, d *datadriven.TestData) string {
	form := url.Values{"target": {d.Input}, "from": {"1741046400"}, "until": {"1741046460"}}
	for _, a := range d.CmdArgs {
		form.Set(a.Key, a.Vals[0])
	}
	list, err := render(m, form)
	if err != nil {
		return "error\n"
	}
	var b strings.Builder
	for _, s := range list {
		name := s.Name
		if s.Unnamed {
			name = "(no name)"
		}
		var tags, values []string
		for _, k := range slices.Sorted(maps.Keys(s.Tags)) {
			tags = append(tags, k+"="+s.Tags[k])
		}
		start, step := int64(0), int64(0)
		for at, v := range s.Points() {
			switch len(values) {
			case 0:
				start = at
			case 1:
				step = at - start
			}
			values = append(values, shownValue(v))
		}
		fmt.Fprintf(&b, "%s | %s | %d %d | %s\n", name, strings.Join(tags, " "), start, step, strings.Join(values, " "))
	}
	return b.String()
}

func shownValue(v float64) string {
	if python.IsNone(v) {
		return "_"
	}
	return strconv.FormatFloat(v, 'g', 12, 64)
}
