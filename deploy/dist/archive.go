package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A file is one of an archive or package.
type file struct {
	path string
	text []byte
	mode int64
}

// name is that of the archive and of the folder in it.
func (t *target) name() string { return fmt.Sprintf("tsdbridge-%s.%s-%s", t.version, t.goos, t.goarch) }

// contents returns what the archive contains.
func (t *target) contents() ([]file, error) {
	binary, err := os.ReadFile(t.binary())
	if err != nil {
		return nil, err
	}
	all := []file{{"tsdbridge", binary, 0o755}, {"THIRD-PARTY-NOTICES", t.notices(), 0o644}}
	for from, to := range map[string]string{
		"LICENSE": "LICENSE", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md", "deploy/tsdbridge.yml": "tsdbridge.yml",
		"deploy/packages/tsdbridge.service": "systemd/tsdbridge.service", "deploy/packages/tsdbridge.socket": "systemd/tsdbridge.socket",
		"deploy/packages/sysusers.conf":      "systemd/sysusers.conf",
		"deploy/prometheus/rules/alerts.yml": "prometheus/alerts.yml", "deploy/prometheus/rules/recording.yml": "prometheus/recording.yml",
		"deploy/grafana/dashboards/tsdbridge.json": "grafana/tsdbridge.json",
	} {
		text, err := os.ReadFile(filepath.Join(t.source.dir, filepath.FromSlash(from)))
		if err != nil {
			return nil, err
		}
		all = append(all, file{to, text, 0o644})
	}
	for name, text := range t.texts {
		to := "completion/" + name
		if name == "tsdbridge.1" {
			to = "man/" + name
		}
		all = append(all, file{to, text, 0o644})
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return all, nil
}

// archive writes the tar.gz.
func (t *target) archive() error {
	all, err := t.contents()
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(t.out, t.name()+".tar.gz"))
	if err != nil {
		return err
	}
	defer f.Close()
	packed, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, entry := range all {
		head := &tar.Header{Name: path.Join(t.name(), entry.path), Mode: entry.mode, Size: int64(len(entry.text)), ModTime: t.time, Format: tar.FormatPAX, Uname: "root", Gname: "root"}
		if err := w.WriteHeader(head); err != nil {
			return err
		}
		if _, err := w.Write(entry.text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	if err := packed.Close(); err != nil {
		return err
	}
	return f.Close()
}

// sums writes SHA256SUMS of all files of the result.
func (r *release) sums() error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, f := range files {
		if f.IsDir() || f.Name() == "SHA256SUMS" {
			continue
		}
		sum, err := sumOf(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sum, f.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()), 0o644) //nolint:gosec // for everybody
}

func sumOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}
