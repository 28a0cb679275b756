package picture

import (
	"encoding/json"
	"strconv"
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
		Series  []lineData         `json:"series"`
	}{
		X:       extent{g.from, g.to},
		Options: map[string]float64{"lineWidth": g.o.LineWidth},
		Font:    map[string]any{"name": g.o.FontName, "size": g.o.FontSize, "bold": g.o.FontBold, "italic": g.o.FontItalic},
		Area:    map[string]float64{"xmin": g.area.xmin, "xmax": g.area.xmax, "ymin": g.area.ymin, "ymax": g.area.ymax},
		Series:  []lineData{},
	}
	if !g.twoAxes {
		all.Y = &values{g.left.top, g.left.bottom, g.left.step, g.left.labels, g.left.values}
	}
	for _, l := range g.lines {
		if !l.style.Stacked {
			all.Series = append(all.Series, l.data())
		}
	}
	return json.Marshal(all)
}

// lineData is a line in the metadata.
type lineData struct {
	Name           string         `json:"name"`
	Start          int64          `json:"start"`
	End            int64          `json:"end"`
	Step           int64          `json:"step"`
	ValuesPerPoint int            `json:"valuesPerPoint"`
	Color          string         `json:"color"`
	Data           points         `json:"data"`
	Options        map[string]any `json:"options"`
}

func (l *line) data() lineData {
	d := lineData{l.Name, l.Start, l.End, l.Step, l.joinedN, l.word, l.values, map[string]any{}}
	for key, on := range map[string]bool{"secondYAxis": l.style.Right, "drawAsInfinite": l.style.Infinite, "invisible": l.style.Invisible} {
		if on {
			d.Options[key] = true
		}
	}
	if l.style.Width != nil {
		d.Options["lineWidth"] = *l.style.Width
	}
	for key, v := range map[string]float64{"dashed": l.style.Dash, "alpha": l.style.Alpha} {
		if v != 0 {
			d.Options[key] = v
		}
	}
	return d
}

// points are numbers, and null for what JSON has no number for.
type points []float64

// MarshalJSON implements json.Marshaler.
func (p points) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 2+8*len(p)), '[')
	for i, v := range p {
		if i > 0 {
			out = append(out, ',')
		}
		if finite(v) {
			out = strconv.AppendFloat(out, v, 'g', -1, 64)
		} else {
			out = append(out, "null"...)
		}
	}
	return append(out, ']'), nil
}
