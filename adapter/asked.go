package adapter

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/adapter/webconfig"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
)

// AloneOrAsked has a command carried out: by the adapter of a given URL; without one, by this process,
// which opens the tables; or, if another process has them open, by the adapter on this machine.
func (o Options) AloneOrAsked(given string, alone func() error, asked func(base string) error) error {
	if given != "" {
		return asked(given)
	}
	err := alone()
	if !errors.Is(err, pebble.ErrInUse) {
		return err
	}
	base, err := o.AdminURL("")
	if err != nil {
		return err
	}
	return asked(base)
}

// AdminURL returns the URL of the adapter with these options on this machine.
func (o Options) AdminURL(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	own, err := o.OwnURL()
	if err != nil {
		return "", fmt.Errorf("the store is in use, and %w", err)
	}
	return own, nil
}

// OwnURL returns the URL of the adapter with these options, for clients on the same machine.
func (o Options) OwnURL() (string, error) {
	host, port, err := net.SplitHostPort(o.ListenAddress)
	if err != nil || port == "0" {
		return "", errors.New("--web.listen-address does not say where the adapter is: give --adapter-url")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if o.encrypts() {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

// encrypts reports whether the HTTP port has TLS. A file that cannot be read here most likely sets it.
func (o Options) encrypts() bool {
	if o.WebConfigFile == "" {
		return false
	}
	file, err := webconfig.Open(o.WebConfigFile, slog.New(slog.DiscardHandler))
	if err != nil {
		return true
	}
	return file.TLS() != nil
}

// Target names the tables that points are imported into.
func (o Options) Target() string {
	if o.Engine == EngineHBase {
		return o.ZooKeeper + o.HBaseRoot + " " + o.TableData
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return o.Path
	}
	return path
}
