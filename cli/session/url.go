package session

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/adapter/webconfig"
)

// UserURL returns the URL of the adapter that has a store open: a given one, or that of this machine.
func UserURL(o adapter.Options, given string) (string, error) {
	if given != "" {
		return given, nil
	}
	own, err := OwnURL(o)
	if err != nil {
		return "", fmt.Errorf("the store is in use, and %w", err)
	}
	return own, nil
}

// OwnURL returns the URL of the adapter with these options, for clients on the same machine.
func OwnURL(o adapter.Options) (string, error) {
	host, port, err := net.SplitHostPort(o.ListenAddress)
	if err != nil || port == "0" {
		return "", errors.New("--web.listen-address does not say where the adapter is: give --adapter-url")
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	scheme := "http"
	if encrypts(o) {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}

// encrypts reports whether the HTTP port has TLS. A file that cannot be read here most likely sets it.
func encrypts(o adapter.Options) bool {
	if o.WebConfigFile == "" {
		return false
	}
	file, err := webconfig.Open(o.WebConfigFile, slog.New(slog.DiscardHandler))
	if err != nil {
		return true
	}
	return file.TLS() != nil
}

// NameOf names the tables in the states of commands.
func NameOf(o adapter.Options) string {
	if o.Engine == tables.EngineHBase {
		return o.ZooKeeper + o.HBaseRoot + " " + o.TableData
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return o.Path
	}
	return path
}
