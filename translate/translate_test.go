package translate

import (
	"strings"
	"testing"
)

func TestMetricName(t *testing.T) {
	tr, err := New(Rule{Pattern: "old_.*", Mode: Compat})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, stored string }{
		{"up", "up"},
		{"http_requests_total", "http_requests_total"},
		{"node:load1", "_-node_3Aload1"},
		{"old_x", "old__x"},
		{"old__x", "old____x"},
		{"old_:x", "old___.x"},
		{"_-up", "_-__-up"},
		{"_-", "_-__-"},
		{"", "_-"},
	} {
		if got := tr.MetricName(tt.name); got != tt.stored {
			t.Errorf("MetricName(%q) = %q, want %q", tt.name, got, tt.stored)
		}
		if got := tr.FromMetric(tt.stored); got != tt.name {
			t.Errorf("FromMetric(%q) = %q, want %q", tt.stored, got, tt.name)
		}
	}
	long := strings.Repeat("x", storedLimits.length+1)
	if got := tr.MetricName(long); got != longMetric || tr.FromMetric(got) != "" {
		t.Errorf("MetricName(long) = %q, which shows as %q", got, tr.FromMetric(got))
	}
	if got := tr.FromMetric("sys.cpu-é"); got != "sys.cpu-é" {
		t.Errorf("FromMetric(foreign) = %q", got)
	}
}

func TestTagKey(t *testing.T) {
	tr := &Translator{limits: storedLimits}
	for _, tt := range []struct{ label, key string }{
		{"job", "job"},
		{"_", "_"},
		{"__address__", "__address__"},
		{"data.center", "data.center"},
		{"http method", "-http_20method"},
		{"-x", "--x"},
		{"-_", "--__"},
		{"-_p0", "--__p0"},
		{"\x00", "-_00"},
		{"", PackedKey},
		{strings.Repeat("é", 10_000), PackedKey},
	} {
		if got := tr.TagKey(tt.label); got != tt.key {
			t.Errorf("TagKey(%q) = %q, want %q", tt.label, got, tt.key)
		}
		if got, ok := tr.Label(tt.key); ok != (tt.key != PackedKey) || ok && got != tt.label {
			t.Errorf("Label(%q) = %q, %t, want %q", tt.key, got, ok, tt.label)
		}
	}
}

// Tag keys that hold no label of ours.
func TestLabelForeign(t *testing.T) {
	tr := &Translator{limits: storedLimits}
	for _, tt := range []struct {
		key, label string
		ok         bool
	}{
		{"-_", "", false},
		{"-_p0", "", false},
		{"-_p12", "", false},
		{"-_p012", "-_p012", true},
		{"-_p", "-_p", true},
		{"-_p-1", "-_p-1", true},
		{"-x", "-x", true},
		{"-", "-", true},
		{"größe", "größe", true},
		{"__name__", "exported___name__", true},
		{"-____name____", "-____name____", true},
	} {
		if got, ok := tr.Label(tt.key); got != tt.label || ok != tt.ok {
			t.Errorf("Label(%q) = %q, %t, want %q, %t", tt.key, got, ok, tt.label, tt.ok)
		}
	}
}

func TestUniform(t *testing.T) {
	for _, tt := range []struct {
		rules []Rule
		want  bool
	}{
		{nil, true},
		{[]Rule{{Pattern: ".*", Mode: Literal}}, true},
		{[]Rule{{Pattern: ".*", Mode: Literal}, {Pattern: "x", Mode: Compat}}, false},
	} {
		tr, err := New(tt.rules...)
		if err != nil {
			t.Fatal(err)
		}
		if got := tr.Uniform(); got != tt.want {
			t.Errorf("Uniform(%v) = %t, want %t", tt.rules, got, tt.want)
		}
		if got := tr.LabelValue("_-a_.b"); got != "a:b" {
			t.Errorf("LabelValue = %q", got)
		}
	}
}
