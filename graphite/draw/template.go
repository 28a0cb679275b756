package draw

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"
)

// A Template is the look of a picture where its request says nothing else: a section of
// graphTemplates.conf. Colours are words that have not been read yet.
type Template struct {
	Background, Foreground, MajorLine, MinorLine string
	LineColors                                   []string
	FontName                                     string
	FontSize                                     float64
	FontBold, FontItalic                         bool
}

// Templates are the templates by their names.
type Templates map[string]Template

const defaultTemplate = "default"

// plain is what graphite-web draws with where no file says otherwise.
func plain() Template {
	return Template{
		Background: "white", Foreground: "black", MajorLine: "rose", MinorLine: "grey", FontName: "Sans", FontSize: 10,
		LineColors: []string{"blue", "green", "red", "purple", "brown", "yellow", "aqua", "grey", "magenta", "pink", "gold", "rose"},
	}
}

//go:embed templates.conf
var builtIn string

// DefaultTemplates returns those of the graphTemplates.conf that comes with graphite-web.
func DefaultTemplates() Templates {
	sections := map[string]map[string]string{}
	name := ""
	for line := range strings.Lines(builtIn) {
		line = strings.TrimSpace(line)
		if section, ok := strings.CutPrefix(line, "["); ok {
			name = strings.TrimSuffix(section, "]")
			sections[name] = map[string]string{}
		} else if key, value, ok := strings.Cut(line, " = "); ok {
			sections[name][key] = value
		}
	}
	all, err := NewTemplates(sections)
	if err != nil {
		panic(err) // The file is part of the program.
	}
	return all
}

// NewTemplates reads the sections of a graphTemplates.conf, whose keys are in lower case. What the
// section default leaves out is graphite-web's, and what another leaves out is default's. Errors name the
// section and the key.
func NewTemplates(sections map[string]map[string]string) (Templates, error) {
	all := Templates{}
	base, err := plain().with(sections[defaultTemplate])
	if err != nil {
		return nil, fmt.Errorf("[%s] %w", defaultTemplate, err)
	}
	all[defaultTemplate] = base
	for name, keys := range sections {
		if name == defaultTemplate {
			continue
		}
		if all[name], err = base.with(keys); err != nil {
			return nil, fmt.Errorf("[%.100s] %w", name, err)
		}
	}
	return all, nil
}

// with returns the template with other values for the keys.
func (t Template) with(keys map[string]string) (Template, error) {
	for key, to := range map[string]*string{"background": &t.Background, "foreground": &t.Foreground, "majorline": &t.MajorLine, "minorline": &t.MinorLine} {
		if value, ok := keys[key]; ok {
			if _, err := parseColor(value); err != nil {
				return t, fmt.Errorf("%s: %w", key, err)
			}
			*to = value
		}
	}
	if list, ok := keys["linecolors"]; ok {
		t.LineColors = nil
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if _, err := parseColor(name); err != nil {
				return t, fmt.Errorf("linecolors: %w", err)
			}
			t.LineColors = append(t.LineColors, name)
		}
	}
	if name, ok := keys["fontname"]; ok {
		t.FontName = name
	}
	if text, ok := keys["fontsize"]; ok {
		size, err := strconv.ParseFloat(text, 64)
		if err != nil || !(size >= leastFont && size <= mostFont) {
			return t, fmt.Errorf("fontsize: %.40q is no size from %d to %d", text, leastFont, mostFont)
		}
		t.FontSize = float64(int(size))
	}
	for key, to := range map[string]*bool{"fontbold": &t.FontBold, "fontitalic": &t.FontItalic} {
		if text, ok := keys[key]; ok {
			*to = strings.EqualFold(text, "true")
		}
	}
	return t, nil
}
