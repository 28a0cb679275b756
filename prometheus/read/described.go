package read

import (
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// mostDescribed is how much of the selectors of a request is kept to describe it, in bytes.
const mostDescribed = 4 << 10

// described returns the selectors of a request as PromQL writes them.
func described(req *prompb.ReadRequest) string {
	var b strings.Builder
	for i, query := range req.Queries {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteByte('{')
		for k, m := range query.Matchers {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(m.Name + operatorOf(m.Type) + strconv.Quote(httpapi.Cut(m.Value, mostDescribed)))
			if b.Len() > mostDescribed {
				return httpapi.Cut(b.String(), mostDescribed)
			}
		}
		b.WriteByte('}')
	}
	return httpapi.Cut(b.String(), mostDescribed)
}

func operatorOf(t prompb.LabelMatcher_Type) string {
	switch t {
	case prompb.LabelMatcher_NEQ:
		return "!="
	case prompb.LabelMatcher_RE:
		return "=~"
	case prompb.LabelMatcher_NRE:
		return "!~"
	}
	return "="
}
