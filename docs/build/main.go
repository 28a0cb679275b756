// Command build writes the site of the handbook into a directory: go run ./docs/build DIR. The binary
// serves the same site at /docs/.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/docs"
	"github.com/tsdbridge/tsdbridge/docs/site"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./docs/build DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	files, err := site.Render(docs.Files)
	if err != nil {
		return err
	}
	for name, content := range files {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // a site is for all
			return err
		}
		if err := os.WriteFile(to, content, 0o644); err != nil { //nolint:gosec // a site is for all
			return err
		}
	}
	return nil
}
