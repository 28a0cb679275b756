package query

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Arguments of "tsdb query" are bodies of /api/query.
func TestCommandLine(t *testing.T) {
	now := time.Unix(1700000000, 0)
	for args, want := range map[string]string{
		"1h-ago sum a.b":               `{"msResolution":true,"noAnnotations":true,"queries":[{"aggregator":"sum","metric":"a.b","tags":{}}],"start":1699996400}`,
		"1500 2000 +wxh=1x1 sum a k=v": `{"end":2000,"msResolution":true,"noAnnotations":true,"queries":[{"aggregator":"sum","metric":"a","tags":{"k":"v"}}],"start":1500}`,
		"2013/01/01 avg rate counter,100,5 downsample 60 max a k=*": `{"msResolution":true,"noAnnotations":true,"queries":[{"aggregator":"avg","downsample":"60ms-max","metric":"a","rate":true,"rateOptions":{"counter":true,"counterMax":100,"resetValue":5},"tags":{"k":"*"}}],"start":1356998400}`,
		"1 sum a min rate counter b": `{"msResolution":true,"noAnnotations":true,"queries":[{"aggregator":"sum","metric":"a","tags":{}}],"start":1}` +
			`{"msResolution":true,"noAnnotations":true,"queries":[{"aggregator":"min","metric":"b","rate":true,"rateOptions":{"counter":true,"counterMax":9223372036854775807},"tags":{}}],"start":1}`,
		"1 sum":                     "not enough arguments",
		"1 2 sum a avg":             "not enough arguments",
		"1 sum rate":                "not enough arguments",
		"1 sum downsample 60":       "not enough arguments",
		"1 sum downsample 1m avg a": `interval of downsample: "1m": want milliseconds`,
		"1 most a":                  "No such aggregator: most",
		"1 sum a k=v=w":             "invalid tag: k=v=w",
		"1 sum a k=v k=w":           "invalid tag: k=w",
		"1 sum rate counter,x a":    `counter,x: strconv.ParseInt: parsing "x": invalid syntax`,
		"yesterday sum a":           "Invalid time: yesterday. Invalid character 'y' in yesterday",
		"1 1x-ago sum a":            "Invalid duration (suffix): 1x",
	} {
		bodies, err := ParseCommandLine(strings.Fields(args), time.UTC, now)
		got := string(bytes.Join(bodies, nil))
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", args, got, want)
		}
		for _, body := range bodies {
			r, err := ParseJSON(body)
			if err == nil {
				err = r.Check(now)
			}
			if err != nil {
				t.Errorf("%s: %s: %v", args, body, err)
			}
		}
	}
}

func TestLookupArguments(t *testing.T) {
	for args, want := range map[string]string{
		"a":       `{"metric":"a","tags":[],"limit":3}`,
		"a k= =v": `{"metric":"a","tags":[{"key":"k","value":""},{"key":"","value":"v"}],"limit":3}`,
		"k=v":     `{"tags":[{"key":"k","value":"v"}],"limit":3}`,
		"":        "not enough arguments",
		"a b":     "invalid tag: b",
		"=":       "invalid tag: =",
		"a k=v=w": "invalid tag: k=v=w",
	} {
		body, err := ParseLookupArguments(strings.Fields(args), 3)
		got := string(body)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
		if err == nil {
			if _, err := ParseLookupJSON(body); err != nil {
				t.Errorf("%s: %v", args, err)
			}
		}
	}
}
