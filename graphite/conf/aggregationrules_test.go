package conf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAggregationRules: which outputs names have. That they are carbon's is shown by the recording of the
// aggregator.
func TestAggregationRules(t *testing.T) {
	rules, err := ParseAggregationRules("aggregation-rules.conf", strings.Join([]string{
		"# comment", "", "  <env>.all.<m>  (60)=sum  <env>.*.<<m>>  \r", "x.<a>%%y ((10) = p999 h<a>t.b*c.**", "n.%(o)s (7) = count q<o>?", "<a>b>c (1) = min <a>+",
	}, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"p.web01.cpu.user": "p.all.cpu.user sum 60", "p.web01": "", "hot.bc.": "x.o%y p999 10", "hot.bxc.k": "hot.all.k sum 60, x.o%y p999 10", "hot.b.c.k": "hot.all.c.k sum 60",
		"qz": "n.z count 7", "q": "n.None count 7", "QQ.": "",
	} {
		var got []string
		err := rules.Of(name, func(rule *AggregationRule, output string) {
			got = append(got, fmt.Sprintf("%s %s %d", output, rule.Method, rule.Frequency))
			if !rules.Has(rule) || rule.String() == "" {
				t.Error("a rule of the file is not in it")
			}
		})
		got = keepWithout(got, " min 1")
		if err != nil || strings.Join(got, ", ") != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
	if err := (*AggregationRules)(nil).Of("a", nil); err != nil {
		t.Error(err)
	}
}

func keepWithout(list []string, end string) (kept []string) {
	for _, s := range list {
		if !strings.HasSuffix(s, end) {
			kept = append(kept, s)
		}
	}
	return kept
}

// TestAggregationRulesRefused: a line that is no rule is named.
func TestAggregationRulesRefused(t *testing.T) {
	for line, want := range map[string]string{
		"a (60) = sum":         "is not: output (frequency) = method input",
		"a (60) sum b":         "is not: output (frequency) = method input",
		"a;t=<b> (60) = sum b": "is not: output (frequency) = method input",
		"a (0) = sum b":        `frequency "(0)": want seconds`,
		"a (1m) = sum b":       `frequency "(1m)": want seconds`,
		"a (60) = last b":      `method "last": want one of sum, avg`,
		"a (60) = sum (b":      "regular expression",
		"<a> (60) = sum <b>":   `the input has no field "a"`,
		"<<a>> (60) = sum <a>": "is no field",
		"a% (60) = sum b":      "is no field",
		"a<b (60) = sum <b>":   "is no field",
		"a (60) = sum <b>.<b>": "regular expression",
	} {
		_, err := ParseAggregationRules("f", "# one\n"+line+"\n")
		if err == nil || !strings.HasPrefix(err.Error(), "f:2: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
	rules, err := ParseAggregationRules("f", "<b>a (60) = sum <b>(a*)*(a*)*(a*)*(a*)*b")
	if err != nil {
		t.Fatal(err)
	}
	if err := rules.Of(strings.Repeat("a", 5000), nil); err == nil {
		t.Error("a rule that takes too long is no error")
	}
}

func FuzzAggregationRules(f *testing.F) {
	f.Add("<a>.b (60) = sum <a>.<<c>>.*\n", "x.y.z")
	f.Fuzz(func(t *testing.T, text, name string) {
		if len(text) > 2000 || len(name) > 200 {
			t.Skip()
		}
		rules, err := ParseAggregationRules("f", text)
		if err != nil {
			return
		}
		var lines []string
		for _, r := range rules.list {
			lines = append(lines, r.String())
		}
		again, err := ParseAggregationRules("f", strings.Join(lines, "\n"))
		if err != nil || len(again.list) != len(rules.list) {
			t.Fatalf("%q is read again as %d rules, %v", text, len(again.list), err)
		}
		if diff := cmp.Diff(outputs(rules, name), outputs(again, name)); diff != "" {
			t.Error(diff)
		}
	})
}

func outputs(rules *AggregationRules, name string) (all []string) {
	err := rules.Of(name, func(_ *AggregationRule, output string) { all = append(all, output) })
	return append(all, fmt.Sprint(err))
}
