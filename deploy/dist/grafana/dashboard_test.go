// Package grafana_test reads the dashboard by Grafana's own schema.
package grafana_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

func read(t *testing.T) []byte {
	t.Helper()
	plugins.RegisterDefaultPlugins()
	files, err := filepath.Glob("../../grafana/dashboards/*.json")
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// dashboardV1 is the schema of dashboards that all versions from Grafana 9 on import.
type dashboardV1 = dashboard.Dashboard //nolint:staticcheck // deprecated in favour of the later one

// strict reads a dashboard. The SDK returns an error without contents where it found none.
func strict(text []byte) (dashboardV1, error) {
	var d dashboardV1
	err := d.UnmarshalJSONStrict(text)
	if found := cog.BuildErrors(nil); errors.As(err, &found) && len(found) == 0 {
		return d, nil
	}
	return d, err
}

// Each field of the dashboard, its panels and its queries is one of Grafana's schema, with a value that the schema allows.
func TestSchema(t *testing.T) {
	d, err := strict(read(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) < 50 || len(d.Templating.List) != 3 {
		t.Errorf("%d panels, %d variables", len(d.Panels), len(d.Templating.List))
	}
}

// A mistake in any part is found: the test above can fail.
func TestMistakes(t *testing.T) {
	text := read(t)
	for _, c := range []struct{ what, from, to string }{
		{"field of the dashboard", `"graphTooltip":`, `"graphToolTip":`},
		{"field of a panel", `"gridPos":`, `"gridPosition":`},
		{"option of a panel", `"displayMode":`, `"displaymode":`},
		{"custom field", `"fillOpacity":`, `"opacity":`},
		{"field of a query", `"legendFormat":`, `"legend":`},
		{"field of a variable", `"includeAll":`, `"all":`},
		{"type of a value", `"refresh": "30s"`, `"refresh": 30`},
	} {
		from := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(c.from), ": ", `:\s*`))
		place := from.FindIndex(text)
		if place == nil {
			t.Errorf("%s: the dashboard has no %s", c.what, c.from)
			continue
		}
		wrong := bytes.Join([][]byte{text[:place[0]], text[place[1]:]}, []byte(c.to))
		if _, err := strict(wrong); err == nil || !json.Valid(wrong) {
			t.Errorf("%s is not found", c.what)
		}
	}
}
