package translate

import (
	"strings"
	"testing"
)

func TestMode(t *testing.T) {
	tr, err := New(
		Rule{Pattern: "new_.*", Mode: Literal},
		Rule{Pattern: "old|older", Mode: Compat},
		Rule{Pattern: ".*_old.*", Mode: Compat},
		Rule{Pattern: "(?i)caps", Mode: Compat},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		want Mode
	}{
		{"", Literal},
		{"old", Compat},
		{"older", Compat},
		{"oldest", Literal},
		{"very old", Literal},
		{"a_old", Compat},
		{"a\n_old\nb", Compat},
		{"new_old", Literal}, // the first rule wins
		{"CAPS", Compat},
		{"other", Literal},
	} {
		if got := tr.modes.mode(tt.name); got != tt.want {
			t.Errorf("mode(%q) = %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestNewErrors(t *testing.T) {
	for _, tt := range []struct {
		rule Rule
		want string
	}{
		{Rule{Pattern: "a("}, `rule 2: pattern "a("`},
		{Rule{Pattern: "a)(b"}, `rule 2: pattern "a)(b"`},
		{Rule{Pattern: "a", Mode: 2}, `rule 2: pattern "a"`},
	} {
		if _, err := New(Rule{}, tt.rule); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%v): %v, want %s", tt.rule, err, tt.want)
		}
	}
}
