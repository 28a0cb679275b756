package main

import (
	"bytes"
	"compress/gzip"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // a packager registers itself
	_ "github.com/goreleaser/nfpm/v2/rpm" // likewise
)

// packages writes the deb and the rpm that nfpm.yaml describes.
func (t *target) packages() error {
	if err := t.writePackaged(); err != nil {
		return err
	}
	description, err := os.ReadFile(filepath.Join(t.source.dir, "deploy", "packages", "nfpm.yaml"))
	if err != nil {
		return err
	}
	config, err := nfpm.Parse(strings.NewReader(os.Expand(string(description), func(name string) string {
		return map[string]string{
			"ARCH": t.goarch, "VERSION": strings.Replace(t.version, "~", "-", 1), "BUILT": t.dir, "SOURCE": t.source.dir, "BILL": t.billPath(),
		}[name]
	})))
	if err != nil {
		return err
	}
	for _, format := range []string{"deb", "rpm"} {
		if err := t.pack(config, format); err != nil {
			return err
		}
	}
	return nil
}

func (t *target) pack(config nfpm.Config, format string) error {
	packager, err := nfpm.Get(format)
	if err != nil {
		return err
	}
	info, err := config.Get(format)
	if err != nil {
		return err
	}
	info.MTime = t.time
	info.RPM.BuildHost = "tsdbridge" // not the machine's name
	info = nfpm.WithDefaults(info)
	f, err := os.Create(filepath.Join(t.out, packager.ConventionalFileName(info)))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := packager.Package(info, f); err != nil {
		return err
	}
	return f.Close()
}

// writePackaged writes the files that packages have in a form of their own.
func (t *target) writePackaged() error {
	var manual bytes.Buffer
	packed, err := gzip.NewWriterLevel(&manual, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := packed.Write(t.texts["tsdbridge.1"]); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	files := map[string][]byte{"tsdbridge.1.gz": manual.Bytes(), "THIRD-PARTY-NOTICES": t.notices()}
	maps.Copy(files, t.texts)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(t.dir, name), text, 0o644); err != nil { //nolint:gosec // for everybody
			return err
		}
	}
	return nil
}
