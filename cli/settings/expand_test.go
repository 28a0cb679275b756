package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("hunter2$A\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := &expander{environment: map[string]string{"A": "1", "B_2": "${A}", "EMPTY": ""}}
	for text, want := range map[string]string{
		"":                         "",
		"a":                        "a",
		"${A}":                     "1",
		"x${A}y${A}z":              "x1y1z",
		"${B_2}":                   "${A}", // once
		"${EMPTY}":                 "",
		"${EMPTY:-d}":              "d",
		"${NONE:-}":                "",
		"${NONE:-a:-b $c}":         "a:-b $c",
		"^a$|$b$":                  "^a$|$b$",
		"$$":                       "$",
		"$${A}":                    "${A}",
		"$$$${A}":                  "$${A}",
		"$$${A}":                   "$1",
		"$A":                       "$A",
		"p:${file:" + secret + "}": "p:hunter2$A",
	} {
		got, isSecret, err := e.text(text, false)
		if err != nil || got != want || isSecret != strings.Contains(text, "file:") {
			t.Errorf("%q = %q, secret %v, %v; want %q", text, got, isSecret, err, want)
		}
	}
	for text, want := range map[string]string{
		"${NONE}": "NONE is not set", "${": "no closing brace", "${}": "want ${NAME}", "${1A}": "want ${NAME}",
		"${A B:-c}": "want ${NAME}", "${file:}": "no such file", "${file:" + t.TempDir() + "}": "is a directory",
	} {
		if got, _, err := e.text(text, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q = %q, %v; want an error with %q", text, got, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("a${A}$$${B:-c}")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "${file:") {
			return
		}
		e := &expander{environment: map[string]string{"A": "1"}}
		escaped := strings.ReplaceAll(text, "$", "$$")
		for _, bare := range []bool{false, true} {
			if got, secret, err := e.text(escaped, bare); got != text || secret || err != nil {
				t.Errorf("%q = %q, %v, %v", escaped, got, secret, err)
			}
			_, _, _ = e.text(text, bare)
		}
	})
}
