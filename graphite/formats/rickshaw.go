package formats

import (
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// writeRickshaw writes points as {"x": seconds, "y": value}.
func writeRickshaw(j *pyjson.Writer, list []*series.Series, _ *time.Location) {
	pyjson.Array(j, list, func(s *series.Series) {
		j.Open('{')
		j.Key("target")
		WriteName(j, s)
		j.Key("datapoints")
		j.Open('[')
		at := s.Start
		for _, v := range s.Values {
			if at >= s.End {
				break
			}
			j.Open('{')
			j.Key("x")
			j.Int(at)
			j.Key("y")
			j.Float(v)
			j.Shut('}')
			at += s.Step
		}
		j.Shut(']')
		j.Shut('}')
	})
}
