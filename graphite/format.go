package graphite

import (
	"math"
	"net/http"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// A renderFormat is a form in which /render answers. Only json has pretty, tags, maxDataPoints and
// noNullPoints of its own, as in graphite-web.
type renderFormat struct {
	contentType string
	isJSON      bool // it may be the argument of a call (jsonp)
	// check returns why series cannot be written; nil: they always can.
	check func(list []*series.Series) error
	write func(j *jsonWriter, list []*series.Series, zone *time.Location)
}

// renderFormats are those of graphite-web but for json and pictures, by their names.
func renderFormats() map[string]renderFormat {
	return map[string]renderFormat{
		"csv":      {contentType: "text/csv", write: writeCSV},
		"raw":      {contentType: "text/plain", write: writeRaw},
		"dygraph":  {contentType: jsonType, isJSON: true, check: checkDygraph, write: writeDygraph},
		"rickshaw": {contentType: jsonType, isJSON: true, write: writeRickshaw},
		"pickle":   {contentType: "application/pickle", write: writePickle},
		"msgpack":  {contentType: "application/x-msgpack", write: writeMsgpack},
	}
}

// formatOf returns the format that a request asks for: the parameters rawData and pickle are older words
// for two of them.
func formatOf(f form) string {
	switch {
	case f.has("format"):
		return f.get("format")
	case f.has("rawData"):
		return "raw"
	case f.has("pickle"):
		return "pickle"
	}
	return ""
}

// textName is the name of a series in formats without a word for none.
func textName(s *series.Series) string {
	if s.Unnamed {
		return "None"
	}
	return s.Name
}

// appendPythonFloat appends a value as Python's repr writes it, and none as otherwise.
func appendPythonFloat(buf []byte, v float64, none string) []byte {
	switch {
	case math.IsNaN(v):
		return append(buf, none...)
	case math.IsInf(v, 1):
		return append(buf, "inf"...)
	case math.IsInf(v, -1):
		return append(buf, "-inf"...)
	}
	return python.AppendFloat(buf, v)
}

// formatted returns the answer in one of the formats.
func (d *renderRequest) formatted(format renderFormat, list []*series.Series) (*reply, error) {
	if format.check != nil {
		if err := format.check(list); err != nil {
			return nil, refuse(http.StatusBadRequest, "%v", err)
		}
	}
	return &reply{
		contentType: format.contentType, header: neverCached(), callable: format.isJSON, pretty: d.pretty,
		write: func(j *jsonWriter) { format.write(j, list, d.request.Zone) },
	}, nil
}

// neverCached are graphite-web's headers when it caches nothing.
func neverCached() map[string]string {
	return map[string]string{"Cache-Control": "max-age=0, no-cache, no-store, must-revalidate, private"}
}
