package main

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/google/licensecheck"
)

// A licence is a file of a module that says under which terms it is.
type licence struct {
	name string
	text []byte
	ids  []string // of SPDX
}

func newLicence(name string, text []byte) licence {
	l := licence{name: name, text: text}
	for _, m := range licensecheck.Scan(text).Match {
		if !m.IsURL && !slices.Contains(l.ids, m.ID) {
			l.ids = append(l.ids, m.ID)
		}
	}
	return l
}

// notices returns the licences of everything that is in the binary, as they ask for.
func (t *target) notices() []byte {
	var b bytes.Buffer
	b.WriteString("tsdbridge contains the following modules, under these licences.\n")
	for _, m := range t.modules {
		for _, l := range m.licences {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n%s\n\n%s\n", rule, m.path, m.version, l.name, rule, bytes.TrimSpace(l.text))
		}
	}
	return b.Bytes()
}

const rule = "--------------------------------------------------------------------------------"
