package draw

import (
	"encoding/json"

	"github.com/tsdbridge/tsdbridge/internal/canvas"
)

// metadata is what a picture is made of, as graphite-web puts it into its SVGs for scripts of the pages that
// show them.
func (g *graph) metadata() ([]byte, error) {
	type extent struct {
		Start int64 `json:"start"`
		End   int64 `json:"end"`
	}
	type values struct {
		Top         float64  `json:"top"`
		Bottom      float64  `json:"bottom"`
		Step        float64  `json:"step"`
		Labels      []string `json:"labels"`
		LabelValues points   `json:"labelValues"`
	}
	all := struct {
		X       extent             `json:"x"`
		Y       *values            `json:"y,omitempty"`
		Options map[string]float64 `json:"options"`
		Font    map[string]any     `json:"font"`
		Area    map[string]float64 `json:"area"`
	}{
		X:       extent{g.from, g.to},
		Options: map[string]float64{"lineWidth": g.o.LineWidth},
		Font:    map[string]any{"name": g.o.FontName, "size": g.o.FontSize, "bold": g.o.FontBold, "italic": g.o.FontItalic},
		Area:    map[string]float64{"xmin": g.area.Left, "xmax": g.area.Right, "ymin": g.area.Top, "ymax": g.area.Bottom},
	}
	if !g.twoAxes {
		all.Y = &values{g.left.top, g.left.bottom, g.left.step, g.left.labels, g.left.values}
	}
	out, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	out = append(out[:len(out)-1], `,"series":[`...)
	between := ""
	for _, l := range g.lines {
		if l.style.Stacked {
			continue
		}
		if err := g.work(len(l.values)); err != nil {
			return nil, err
		}
		if out, err = l.appendData(append(out, between...)); err != nil {
			return nil, err
		}
		between = ","
	}
	return append(out, "]}"...), nil
}

// appendData appends a line of the metadata. Its values are written by hand: they are nearly all of it.
func (l *line) appendData(out []byte) ([]byte, error) {
	head, err := json.Marshal(struct {
		Name           string `json:"name"`
		Start          int64  `json:"start"`
		End            int64  `json:"end"`
		Step           int64  `json:"step"`
		ValuesPerPoint int    `json:"valuesPerPoint"`
		Color          string `json:"color"`
	}{l.Name, l.Start, l.End, l.Step, l.joinedN, l.word})
	if err != nil {
		return nil, err
	}
	options, err := json.Marshal(l.optionData())
	if err != nil {
		return nil, err
	}
	out = append(append(out, head[:len(head)-1]...), `,"data":`...)
	out = points(l.values).append(out)
	return append(append(append(out, `,"options":`...), options...), '}'), nil
}

// optionData is what functions said about a line.
func (l *line) optionData() map[string]any {
	options := map[string]any{}
	for key, on := range map[string]bool{"secondYAxis": l.style.Right, "drawAsInfinite": l.style.Infinite, "invisible": l.style.Invisible} {
		if on {
			options[key] = true
		}
	}
	if l.style.Width != nil {
		options["lineWidth"] = *l.style.Width
	}
	for key, v := range map[string]float64{"dashed": l.style.Dash, "alpha": l.style.Alpha} {
		if v != 0 {
			options[key] = v
		}
	}
	return options
}

// points are numbers, and null for what JSON has no number for.
type points []float64

// MarshalJSON implements json.Marshaler.
func (p points) MarshalJSON() ([]byte, error) { return p.append(nil), nil }

func (p points) append(out []byte) []byte {
	out = append(out, '[')
	for i, v := range p {
		if i > 0 {
			out = append(out, ',')
		}
		if finite(v) {
			out = canvas.AppendFloat(out, v)
		} else {
			out = append(out, "null"...)
		}
	}
	return append(out, ']')
}
