package main

import (
	"io"
	"strings"
	"testing"
)

// The report of go test becomes a table; a failing test is listed, and a size is listed once.
func TestResults(t *testing.T) {
	const events = `{"Action":"output","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestFind","Output":"    find_test.go:7: scale: 500 paths\n"}
{"Action":"output","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestFind","Output":"    find_test.go:7: scale: 500 paths\n"}
{"Action":"pass","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestFind","Elapsed":1.5}
{"Action":"output","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestSync","Output":"    want 1\n"}
{"Action":"fail","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestSync","Elapsed":0.1}
{"Action":"skip","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestHBase","Elapsed":0}
{"Action":"output","Package":"github.com/tsdbridge/tsdbridge/tree","Test":"TestLoad","Output":"fatal error\n"}
{"Action":"fail","Package":"github.com/tsdbridge/tsdbridge/tree","Elapsed":2.4}
{"Action":"skip","Package":"github.com/tsdbridge/tsdbridge/deploy","Elapsed":0}
plain text of a compiler
`
	var log, page strings.Builder
	s := newResults()
	if err := s.read(strings.NewReader(events), &log); err != nil {
		t.Fatal(err)
	}
	s.writeTo(io.MultiWriter(&page))
	const want = `| package | passed | failed | skipped | seconds |
|---|---|---|---|---|
| ` + "`./tree`" + ` | 1 | 1 | 1 | 2 |

## Sizes

| package | test | size |
|---|---|---|
| tree | TestFind | 500 paths |

## Failed

- tree TestSync
`
	if page.String() != want {
		t.Errorf("page:\n%s\nwant:\n%s", page.String(), want)
	}
	if got := log.String(); got != "    want 1\nfatal error\nplain text of a compiler\n" {
		t.Errorf("log %q", got)
	}
}
