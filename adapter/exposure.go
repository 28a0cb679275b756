package adapter

import (
	"net"
	"net/netip"
)

// A listener is what the log has of a port that others reach.
type listener struct{ name, address, flag string }

// logExposed logs the listeners that other machines reach without a password.
func (p *ports) logExposed(others []exposure) {
	for _, l := range p.exposed(others) {
		p.options.Logger.Info("open to other machines without a password; a loopback address, a firewall or --web.config.file closes it, or its flag left empty", "listener", l.name, "address", l.address, "flag", l.flag)
	}
}

// An exposure is a listener that has no password, or whose password is that of HTTP.
type exposure struct {
	listener

	protected bool
}

// carbonAndOpenTSDB are the listeners of carbon's protocols and of OpenTSDB's. Carbon's and telnet have no passwords.
func (a *Adapter) carbonAndOpenTSDB() []exposure {
	carbon, tsd := a.o.Carbon, a.opentsdb.Addr()
	return []exposure{
		{listener{"carbon", carbon.ListenAddress, "--carbon.listen-address"}, false},
		{listener{"carbon pickle", carbon.PickleAddress, "--carbon.pickle-listen-address"}, false},
		{listener{"carbon protobuf", carbon.ProtobufAddress, "--carbon.protobuf-listen-address"}, false},
		{listener{"opentsdb telnet", tsd, "--opentsdb.listen-address"}, false},
		{listener{"opentsdb http", tsd, "--opentsdb.listen-address"}, a.identifies() && !a.o.OpenTSDB.OpenPuts},
	}
}

// identifies reports whether the HTTP ports have passwords.
func (p *ports) identifies() bool { return p.webConfig != nil && p.webConfig.Identifies() }

// exposed returns the listeners that other machines reach without a password.
func (p *ports) exposed(others []exposure) (open []listener) {
	own := []exposure{
		{listener{"http", p.Addr(), "--web.listen-address"}, p.identifies()},
		{listener{"otlp grpc", p.GRPCAddr(), "--otlp.grpc-listen-address"}, p.identifies()},
	}
	for _, l := range append(own, others...) {
		if l.address != "" && !l.protected && reachable(l.address) {
			open = append(open, l.listener)
		}
	}
	return open
}

// reachable reports whether other machines may reach an address. A name other than localhost may stand for any.
func reachable(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return !ip.Unmap().IsLoopback()
	}
	return host != "localhost"
}
