// Package webconfig implements TLS, passwords and headers of an HTTP port from the file of
// --web.config.file, in the format of Prometheus' exporter-toolkit. The toolkit's own server reads
// the file and the certificates for each request and connection, and checks passwords one after the
// other in an unlimited queue. Here files are read when they have changed, and a client with the
// right password does not wait for clients that guess. The package never stores a password.
package webconfig

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/prometheus/exporter-toolkit/web"
	"gopkg.in/yaml.v3"

	"github.com/tsdbridge/tsdbridge/regular"
)

// A File is read again when it, or a file that it names, has changed. It is safe for concurrent
// use.
type File struct {
	path      string
	passwords *passwords // of all ports

	mu      sync.Mutex // guards all below
	stamps  []stamp
	current *settings
}

// settings are the content of the file. They do not change.
type settings struct {
	headers map[string]string
	users   map[string]string // hashes of passwords
	http2   bool
	limit   web.RateLimiterConfig
	tls     *tls.Config // nil: none
}

// Open reads a file. The toolkit reports its errors.
func Open(path string) (*File, error) {
	f := &File{path: path, passwords: newPasswords()}
	_, err := f.load()
	return f, err
}

// load returns the current content of the file.
func (f *File) load() (*settings, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.current != nil && unchanged(f.stamps) {
		return f.current, nil
	}
	f.current = nil
	own := stampOf(f.path) // before it is read
	if err := checkFiles(f.path); err != nil {
		return nil, err
	}
	if err := web.Validate(f.path); err != nil {
		return nil, err
	}
	c, err := parse(f.path)
	if err != nil {
		return nil, err
	}
	f.stamps = []stamp{own, stampOf(c.TLSConfig.TLSCertPath), stampOf(c.TLSConfig.TLSKeyPath), stampOf(c.TLSConfig.ClientCAs)}
	s := &settings{headers: c.HTTPConfig.Header, http2: c.HTTPConfig.HTTP2, limit: c.RateLimiterConfig, users: map[string]string{}}
	for user, hash := range c.Users {
		s.users[user] = string(hash)
	}
	if c.TLSConfig.IsEnabled() {
		if s.tls, err = tlsConfig(&c.TLSConfig); err != nil {
			return nil, err
		}
	}
	f.current = s
	return s, nil
}

// checkFiles reports why a file, or one that it names, cannot be read: a handshake must not wait for it. What else is wrong
// with it, the toolkit tells.
func checkFiles(path string) error {
	if err := regular.Check(path); err != nil {
		return err
	}
	c, err := parse(path)
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	for _, name := range []string{c.TLSConfig.TLSCertPath, c.TLSConfig.TLSKeyPath, c.TLSConfig.ClientCAs} {
		if err := regular.Check(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// parse reads the file with the toolkit's defaults.
func parse(path string) (*web.Config, error) {
	text, err := regular.Read(path)
	if err != nil {
		return nil, err
	}
	c := &web.Config{
		TLSConfig:  web.TLSConfig{MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS13, PreferServerCipherSuites: true},
		HTTPConfig: web.HTTPConfig{HTTP2: true},
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(c); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c.TLSConfig.SetDirectory(filepath.Dir(path))
	return c, nil
}

// tlsConfig returns the toolkit's configuration, with the certificate read.
func tlsConfig(c *web.TLSConfig) (*tls.Config, error) {
	config, err := web.ConfigToTLSConfig(c)
	if err != nil {
		return nil, err
	}
	certificate, err := config.GetCertificate(nil)
	if err != nil {
		return nil, err
	}
	own := *certificate
	own.PrivateKey = paced(own.PrivateKey)
	config.GetCertificate, config.Certificates = nil, []tls.Certificate{own}
	return config, nil
}

// A stamp identifies a version of a file, or records that the file did not exist.
type stamp struct {
	path string
	info os.FileInfo // nil: it was not there, or is none
}

func stampOf(path string) stamp {
	if path == "" {
		return stamp{}
	}
	info, _ := os.Stat(path) // reading the file reports the error
	return stamp{path, info}
}

// unchanged reports whether files are the same as before. A link to another target counts as
// another file.
func unchanged(stamps []stamp) bool {
	for _, s := range stamps {
		now := stampOf(s.path)
		switch {
		case s.path == "":
		case s.info == nil || now.info == nil:
			return false
		case !os.SameFile(s.info, now.info) || s.info.Size() != now.info.Size() || !s.info.ModTime().Equal(now.info.ModTime()):
			return false
		}
	}
	return true
}
