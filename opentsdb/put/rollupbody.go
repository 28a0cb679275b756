package put

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
	"github.com/tsdbridge/tsdbridge/opentsdb/httpapi"
	"github.com/tsdbridge/tsdbridge/opentsdb/jackson"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
)

// The texts of RollUpDataPoint for values that it does not hand to the store.
const (
	errNoInterval    = putline.ArgumentError("Missing interval")
	errNoAggregation = putline.ArgumentError("Missing aggregator")
)

// rollupRequest is one request of /api/rollup.
type rollupRequest struct {
	jackson.Scanner
	rollups *RollupStore
	limit   int // of values
	count   int
	places  []rollupPlace // of the values
	bad     []badPoint
	series  []storage.Series
	values  []rollup.Point
}

// A rollupPlace is where a value that was not refused is in the body.
type rollupPlace struct{ from, to int }

// serveRollup is RollupDataPointRpc.execute of OpenTSDB 2.4.
func (a *Handler) serveRollup(w http.ResponseWriter, r *http.Request) {
	if err := a.mayPut(r); err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	answer, err := a.rollup(w, r)
	if err != nil {
		httpapi.WriteError(w, r, err)
		return
	}
	answer.write(w, r)
}

// rollup reads a request and stores its values. An error concerns the request as a whole.
func (a *Handler) rollup(w http.ResponseWriter, r *http.Request) (*outcome, error) {
	flags, err := readFlags(r.URL.RawQuery)
	if err != nil {
		return nil, err
	}
	content := body{share: &netserver.Share{Gate: a.gate}, turns: a.turns}
	defer content.share.Release()
	if err := content.read(w, r, a.o.BodyBytes); err != nil {
		return nil, err
	}
	if !a.gate.Enter() {
		return nil, errBusy
	}
	defer a.gate.Leave()
	conn := netserver.ConnOf(r.Context())
	conn.Begin()
	defer conn.End(true)
	q := &rollupRequest{Scanner: jackson.Scanner{B: content.bytes}, rollups: a.puts.rollups, limit: a.o.Points}
	if err := q.parseInTurn(r.Context(), a); err != nil {
		return nil, err
	}
	ctx, cancel := netserver.WithTimeout(context.WithoutCancel(r.Context()), a.o.Timeout)
	defer cancel()
	answer := q.store(ctx, flags, &a.puts.http)
	keepBad(a.puts.o.Refused, r, q.B, q.bad)
	return answer, nil
}

// parseInTurn reads the values. Only as many bodies are parsed at once as there are cores.
func (q *rollupRequest) parseInTurn(ctx context.Context, a *Handler) error {
	ctx, cancel := context.WithTimeout(ctx, unpackTimeout)
	defer cancel()
	turn, err := a.turns.Begin(ctx)
	if err != nil {
		return errBusy
	}
	defer turn.End()
	return parsePuts(&q.Scanner, q.elements)
}

// elements reads the values, and returns how many they are.
func (q *rollupRequest) elements() (int, error) {
	err := q.OneOrMany(q.element)
	return q.count, err
}

// element reads one value.
func (q *rollupRequest) element() error {
	if q.count++; q.count > q.limit {
		return fmt.Errorf("%w: more than %d", errTooMany, q.limit)
	}
	q.Space()
	from := q.I
	var p rollupMembers
	var err error
	if q.Space() == 'n' {
		_, err = q.Word()
		p.null = true
	} else {
		err = q.Object(func(name jackson.Scalar) error { return q.member(&p, name) })
	}
	if err != nil {
		return err
	}
	series, value, err := q.resolve(&p)
	if err != nil {
		q.bad = append(q.bad, badPoint{from, q.I, err})
		return nil
	}
	q.places, q.series, q.values = append(q.places, rollupPlace{from, q.I}), append(q.series, series), append(q.values, value)
	return nil
}

// rollupMembers are the members of a value: RollUpDataPoint of OpenTSDB 2.4.
type rollupMembers struct {
	element
	interval, aggregator, group jackson.Scalar
}

// The names of the members that a put does not have.
const (
	memberInterval   = "interval"
	memberAggregator = "aggregator"
	memberGroupBy    = "groupByAggregator"
)

func (q *rollupRequest) member(p *rollupMembers, name jackson.Scalar) error {
	word, err := name.Text()
	if err != nil {
		return err
	}
	switch string(word) {
	case memberMetric:
		p.metric, err = q.Scalar()
	case memberTimestamp:
		p.timestamp, err = long(&q.Scanner)
	case memberValue:
		p.value, err = q.Scalar()
	case memberInterval:
		p.interval, err = q.Scalar()
	case memberAggregator:
		p.aggregator, err = q.Scalar()
	case memberGroupBy:
		p.group, err = q.Scalar()
	case memberTags:
		p.tags, err = tagObject(&q.Scanner)
	default:
		err = q.Skip(0)
	}
	return err
}

// resolve returns a value with its series, or why it is refused. The order of the checks is that of a
// TSD.
func (q *rollupRequest) resolve(p *rollupMembers) (s storage.Series, v rollup.Point, err error) {
	if err := p.missing(true); err != nil {
		return s, v, err
	}
	one := sentRollup{Sent: putline.Sent{Timestamp: p.timestamp, Double: true}}
	for _, text := range []struct {
		from jackson.Scalar
		to   *string
	}{{p.metric, &one.Metric}, {p.interval, &one.interval}, {p.aggregator, &one.aggregation}, {p.group, &one.group}} {
		word, err := text.from.Text()
		if err != nil {
			return s, v, err
		}
		*text.to = strings.ToValidUTF8(string(word), "\uFFFD")
	}
	switch {
	case one.interval == "" && one.group == "":
		return s, v, errNoInterval
	case one.aggregation == "" && one.group == "":
		return s, v, errNoAggregation
	}
	if one.Tags, err = readTags(p.tags); err != nil {
		return s, v, err
	}
	if len(one.Tags) == 0 {
		return s, v, errNoTags
	}
	if one.Value, err = parseScalar(p.value); err != nil {
		return s, v, errNoNumber
	}
	return q.rollups.resolve(&one)
}

// store stores what was not refused, and returns what became of all.
func (q *rollupRequest) store(ctx context.Context, flags flags, counted *protocol) *outcome {
	var err error
	if len(q.values) > 0 {
		var refused []error
		refused, err = q.rollups.Store(ctx, q.series, q.values)
		for i, err := range refused {
			if err != nil && storage.IsRefusal(err) {
				q.bad = append(q.bad, badPoint{q.places[i].from, q.places[i].to, err})
			}
		}
	}
	answer := newOutcome(flags, q.count, len(q.bad), err)
	counted.CountPoints(q.count, len(q.bad), err)
	if flags.details {
		answer.explain(q.B, q.bad, echoRollup)
	}
	return answer
}
