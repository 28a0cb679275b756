package conf

import (
	"strings"
	"testing"
)

func TestNameList(t *testing.T) {
	l := ParseNameList("blacklist.conf", "# comment\n\n  ^servers\\.test  \r\n (bad\n #no comment: the line begins with a blank\n\\.tmp$\n")
	for name, want := range map[string]bool{
		"servers.test.cpu": true, "servers.prod.cpu": false, "a.tmp": true, "a.tmp.b": false, "x.servers.test": false, "a #no comment: the line begins with a blank": true,
	} {
		if got, err := l.Has(name); got != want || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if skipped := l.Skipped(); len(skipped) != 1 || !strings.HasPrefix(skipped[0].Error(), "blacklist.conf:4: ") {
		t.Errorf("skipped: %v", skipped)
	}
	if l.Empty() || !ParseNameList("f", "# nothing\n").Empty() || !(*NameList)(nil).Empty() {
		t.Error("Empty")
	}
	if _, err := ParseNameList("f", "(a*)*(a*)*(a*)*(a*)*b").Has(strings.Repeat("a", 5000)); err == nil {
		t.Error("an expression that takes too long is no error")
	}
}

func TestRewrites(t *testing.T) {
	r := ParseRewrites("rewrite-rules.conf", strings.Join([]string{
		"lost = rule", "[PRE]", "# comment", `^collectd\.(\w+)\. = servers.\1.`, "(bad = x", "no rule", `_ =`, "[other]", "a = b",
		"[post]", "x = y", "[post]", `\.\.+ = .`,
	}, "\n"))
	for name, want := range map[string]string{
		"collectd.web01.cpu": "servers.web01.cpu", "a_b": "ab", "x..y": "x.y", "plain": "plain", "_": "", "collectd.a_b..c": "servers.ab.c",
	} {
		if _, got, err := r.Apply(name); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	var skipped []string
	for _, err := range r.Skipped() {
		skipped = append(skipped, strings.TrimPrefix(err.Error(), "rewrite-rules.conf:"))
	}
	want := []string{"1: the rule is in no section", "5: regular expression", `6: "no rule" is neither`, "8: [other]: carbon", "9: the rule is in no section"}
	for i, text := range skipped {
		if i >= len(want) || !strings.HasPrefix(text, want[i]) {
			t.Errorf("skipped: %s", text)
		}
	}
	if len(skipped) != len(want) {
		t.Errorf("%d lines are skipped, want %d", len(skipped), len(want))
	}
	if pre, post, err := r.Apply("x..a_y"); pre != "x..ay" || post != "x.ay" || err != nil {
		t.Error(pre, post, err)
	}
	if pre, post, err := (*Rewrites)(nil).Apply("a"); pre != "a" || post != "a" || err != nil {
		t.Error(pre, post, err)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("[pre]\na(b) = \\1\n^x$\n", "aab")
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 2000 || len(name) > 200 {
			t.Skip()
		}
		_, _ = ParseNameList("f", text).Has(name)
		_, _, _ = ParseRewrites("f", text).Apply(name)
	})
}
