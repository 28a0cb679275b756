// Package webconfig implements TLS, passwords and headers of an HTTP port from the file of
// --web.config.file, in the format of Prometheus' exporter-toolkit. The toolkit's own server reads
// the file and the certificates for each request and connection, and checks passwords one after the
// other in an unlimited queue. Here files are read when they have changed, and a client with the
// right password does not wait for clients that guess. The package never stores a password.
package webconfig

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v3"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A File is read again when it, or a file that it names, has changed. While what they say cannot be used, what they said
// before stays in use. It is safe for concurrent use.
type File struct {
	path      string
	logger    *slog.Logger
	passwords *passwords // of all ports

	mu      sync.Mutex // guards all below
	stamps  []stamp
	current *settings
	broken  error     // why the files as they are now cannot be used; nil: current is what they say
	tried   time.Time // when broken files were read
}

// tryBroken is how often broken files are read again that look unchanged: their permissions may have changed.
const tryBroken = time.Second

// settings are the content of the file. They do not change.
type settings struct {
	headers map[string]string
	users   map[string]string // hashes of passwords
	http2   bool
	limit   web.RateLimiterConfig
	tls     *tls.Config // nil: none
}

// Open reads a file. The toolkit reports its errors.
func Open(path string, logger *slog.Logger) (*File, error) {
	f := &File{path: path, logger: logger, passwords: newPasswords()}
	var err error
	f.current, f.stamps, err = read(path)
	return f, err
}

// Register registers a metric that tells whether the files can be used.
func (f *File) Register(reg prometheus.Registerer) {
	promauto.With(reg).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsdbridge_web_config_usable",
		Help: "Whether the file of --web.config.file and the certificates that it names can be used as they are; while they cannot, those from before are.",
	}, func() float64 {
		if f.Broken() != nil {
			return 0
		}
		return 1
	})
}

// Broken returns why the files cannot be used as they are now; nil: they can.
func (f *File) Broken() error {
	f.now()
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

// now returns the content of the file as it is now, or as it was when it could be used last.
func (f *File) now() *settings {
	f.mu.Lock()
	defer f.mu.Unlock()
	if unchanged(f.stamps) && (f.broken == nil || time.Since(f.tried) < tryBroken) {
		return f.current
	}
	s, stamps, err := read(f.path)
	f.note(err)
	f.stamps = stamps
	if err == nil {
		f.current = s
	}
	return f.current
}

// note logs that the files cannot be used, or can be used again. It needs mu.
func (f *File) note(err error) {
	switch {
	case err != nil && (f.broken == nil || f.broken.Error() != err.Error()):
		f.logger.Error("the web configuration cannot be used, the passwords and certificates from before stay in use; correct --web.config.file and the files that it names", "err", err)
	case err == nil && f.broken != nil:
		f.logger.Info("the web configuration can be used again")
	}
	f.broken, f.tried = err, time.Now()
}

// Identifies reports whether clients need a password, or a certificate.
func (f *File) Identifies() bool {
	s := f.now()
	return len(s.users) > 0 || s.tls != nil && s.tls.ClientAuth == tls.RequireAndVerifyClientCert
}

// read reads a file, and returns the stamps of all files that it read or wanted to read.
func read(path string) (s *settings, stamps []stamp, err error) {
	stamps = []stamp{stampOf(path)} // before it is read
	if err := fsutil.CheckRegular(path); err != nil {
		return nil, stamps, err
	}
	if c, err := parse(path); err == nil {
		for _, name := range []string{c.TLSConfig.TLSCertPath, c.TLSConfig.TLSKeyPath, c.TLSConfig.ClientCAs} {
			stamps = append(stamps, stampOf(name))
			if err := fsutil.CheckRegular(name); err != nil && !errors.Is(err, fs.ErrNotExist) { // a handshake must not wait for it
				return nil, stamps, err
			}
		}
	}
	if err := web.Validate(path); err != nil {
		return nil, stamps, err
	}
	c, err := parse(path)
	if err != nil {
		return nil, stamps, err
	}
	s = &settings{headers: c.HTTPConfig.Header, http2: c.HTTPConfig.HTTP2, limit: c.RateLimiterConfig, users: map[string]string{}}
	for user, hash := range c.Users {
		s.users[user] = string(hash)
	}
	if c.TLSConfig.IsEnabled() {
		s.tls, err = tlsConfig(&c.TLSConfig)
	}
	return s, stamps, err
}

// parse reads the file with the toolkit's defaults.
func parse(path string) (*web.Config, error) {
	text, err := fsutil.ReadRegular(path)
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
	if err := checkAuthorities(c.ClientCAs); err != nil {
		return nil, err
	}
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

// checkAuthorities refuses a file of authorities that the toolkit would take without what it cannot read, or as empty.
func checkAuthorities(path string) error {
	if path == "" {
		return nil
	}
	text, err := fsutil.ReadRegular(path)
	if err != nil {
		return err
	}
	found := 0
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		text = rest
		if block.Type != "CERTIFICATE" {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return fmt.Errorf("client_ca_file %s: %w", path, err)
		}
		found++
	}
	if found == 0 || bytes.Contains(text, []byte("-----BEGIN ")) {
		return fmt.Errorf("client_ca_file %s: %d certificates and one that cannot be read", path, found)
	}
	return nil
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
			if s.info != now.info {
				return false
			}
		case !os.SameFile(s.info, now.info) || s.info.Size() != now.info.Size() || !s.info.ModTime().Equal(now.info.ModTime()):
			return false
		}
	}
	return true
}
