package webconfig

import (
	"crypto/tls"
	"net"
	"net/http"
)

// Serve serves as the file requires: with TLS if it has a certificate. A changed certificate is
// used from the next connection on. Whether there is TLS is decided once.
func (f *File) Serve(l net.Listener, server *http.Server) error {
	s := f.now()
	if s.tls == nil {
		return server.Serve(l)
	}
	if !s.http2 {
		server.TLSNextProto = map[string]func(*http.Server, *tls.Conn, http.Handler){}
	}
	f.logger.Info("TLS is enabled", "http2", s.http2, "address", l.Addr().String())
	server.TLSConfig = s.tls.Clone()
	server.TLSConfig.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return f.changed(s, server.TLSConfig.NextProtos), nil
	}
	return server.ServeTLS(l, "", "")
}

// TLS returns how another port encrypts its connections, for HTTP/1.1; nil: it does not. A changed
// certificate is used from the next connection on.
func (f *File) TLS() *tls.Config {
	s := f.now()
	if s.tls == nil {
		return nil
	}
	config := s.tls.Clone()
	config.NextProtos = []string{"http/1.1"}
	config.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) { return f.changed(s, config.NextProtos), nil }
	return config
}

// changed returns the current certificate; nil, which means the first one, unless the file has
// changed.
func (f *File) changed(first *settings, protos []string) *tls.Config {
	s := f.now()
	if s == first || s.tls == nil {
		return nil
	}
	config := s.tls.Clone()
	config.NextProtos = protos
	return config
}
