package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
	"github.com/tsdbridge/tsdbridge/graphite/eval"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

// info answers /info as go-carbon does: how series are kept. graphite-web has no such page, and neither is there one
// without a format, by which go-carbon's clients always ask.
func (a *API) info(r *exchange.Request) (*exchange.Reply, error) {
	if !r.Params.Has("format") {
		return nil, exchange.Refuse(http.StatusNotFound, "/info wants a format: json, carbonapi_v3_pb or protobuf")
	}
	format := r.Params.Get("format")
	write := infoFormats()[format]
	if write == nil {
		return nil, exchange.Refuse(http.StatusBadRequest, "format %s of /info is none of json, carbonapi_v3_pb and protobuf", exchange.Quoted(format))
	}
	names, err := askedNames(r, "target")
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, exchange.InvalidParams("Missing required parameter 'target'")
	}
	if most := a.o.Limits.Targets; most > 0 && len(names) > most {
		return nil, exchange.Refuse(http.StatusUnprocessableEntity, "%d targets, at most %d are looked up in one request", len(names), most)
	}
	var list []carbonapi.Info
	for _, name := range names {
		one, err := a.infoOf(r.Context(), name)
		if err != nil {
			return nil, err
		}
		list = append(list, *one)
	}
	return write(list), nil
}

// infoOf returns how the series of a name is kept.
func (a *API) infoOf(ctx context.Context, name string) (*carbonapi.Info, error) {
	now := a.o.Now().Unix()
	found, err := a.Sources.Open().Retentions(ctx, eval.Fetch{Pattern: name, Until: now, Now: now})
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if f.Name != name {
			continue // a pattern is no name
		}
		i := &carbonapi.Info{Name: name, Consolidation: strings.ToUpper(f.Aggregation.Method[:1]) + f.Aggregation.Method[1:], XFilesFactor: f.Aggregation.XFF}
		for _, archive := range f.Archives {
			i.MaxRetention = max(i.MaxRetention, archive.Retention())
			i.Retentions = append(i.Retentions, carbonapi.Retention{SecondsPerPoint: archive.Step, Points: archive.Points})
		}
		return i, nil
	}
	return nil, exchange.Refuse(http.StatusNotFound, "no metric is named %s", exchange.Quoted(name))
}

// infoFormats are those of /info. The older message tells of one series; carbonapi takes it for msgpack.
func infoFormats() map[string]func([]carbonapi.Info) *exchange.Reply {
	older := func(list []carbonapi.Info) *exchange.Reply {
		return exchange.MessageReply(list[0].AppendFields(nil), carbonapi.OlderType)
	}
	return map[string]func([]carbonapi.Info) *exchange.Reply{
		"json": infoJSON, "protobuf": older, "protobuf3": older, "carbonapi_v2_pb": older, "msgpack": older,
		carbonapi.Format: func(list []carbonapi.Info) *exchange.Reply {
			var out []byte
			for i := range list {
				out = list[i].Append(out)
			}
			return exchange.MessageReply(out, carbonapi.ContentType)
		},
	}
}

// infoJSON is the message as protobuf's JSON has it, where integers of 64 bits are texts.
func infoJSON(list []carbonapi.Info) *exchange.Reply {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	metrics := make([]pyjson.Object, len(list))
	for i, one := range list {
		factor, _ := strconv.ParseFloat(strconv.FormatFloat(one.XFilesFactor, 'g', -1, 32), 64) // the digits of 32 bits
		retentions := make([]pyjson.Object, len(one.Retentions))
		for n, r := range one.Retentions {
			retentions[n] = pyjson.Object{{Key: "secondsPerPoint", Value: number(r.SecondsPerPoint)}, {Key: "numberOfPoints", Value: number(r.Points)}}
		}
		metrics[i] = pyjson.Object{
			{Key: "name", Value: one.Name},
			{Key: "consolidationFunc", Value: one.Consolidation},
			{Key: "xFilesFactor", Value: factor},
			{Key: "maxRetention", Value: number(one.MaxRetention)},
			{Key: "retentions", Value: retentions},
		}
	}
	return &exchange.Reply{ContentType: pyjson.ContentType, Write: func(j *pyjson.Writer) { j.Value(pyjson.Object{{Key: "metrics", Value: metrics}}) }}
}
