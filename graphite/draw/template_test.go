package draw

import (
	"slices"
	"strings"
	"testing"
)

// TestTemplates has those of graphite-web, and reads others.
func TestTemplates(t *testing.T) {
	all := DefaultTemplates()
	if len(all) != 18 || all["noc"].LineColors[3] != "yellow" || all["summary"].Foreground != "black" || all["ocean1"].Background != "white" {
		t.Errorf("%d templates: %v", len(all), all)
	}
	some, err := NewTemplates(map[string]map[string]string{"default": {"fontsize": "12.5", "fontbold": "True"}, "mine": {"linecolors": "ff0000, blue", "fontname": "Mono"}})
	if err != nil {
		t.Fatal(err)
	}
	if mine := some["mine"]; mine.FontSize != 12 || !mine.FontBold || mine.FontName != "Mono" || !slices.Equal(mine.LineColors, []string{"ff0000", "blue"}) {
		t.Errorf("%+v", mine)
	}
	for key, value := range map[string]string{"background": "nocolor", "linecolors": "blue,,red", "fontsize": "large"} {
		if _, err := NewTemplates(map[string]map[string]string{"mine": {key: value}}); err == nil || !strings.Contains(err.Error(), "[mine] "+key) {
			t.Errorf("%s = %s: %v", key, value, err)
		}
	}
}
