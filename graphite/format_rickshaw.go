package graphite

import (
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// writeRickshaw writes points as {"x": seconds, "y": value}.
func writeRickshaw(j *jsonWriter, list []*series.Series, _ *time.Location) {
	array(j, list, func(s *series.Series) {
		j.open('{')
		j.key("target")
		writeName(j, s)
		j.key("datapoints")
		j.open('[')
		at := s.Start
		for _, v := range s.Values {
			if at >= s.End {
				break
			}
			j.open('{')
			j.key("x")
			j.int(at)
			j.key("y")
			j.float(v)
			j.shut('}')
			at += s.Step
		}
		j.shut(']')
		j.shut('}')
	})
}
