package adapter

import (
	"net"
	"net/netip"
)

// A listener of an adapter is what the log tells of one that others reach.
type listener struct{ name, address, flag string }

// tellExposed logs the listeners that other machines reach without a password.
func (a *Adapter) tellExposed() {
	for _, l := range a.exposed() {
		a.o.Logger.Info("open to other machines without a password; a loopback address, a firewall or --web.config.file closes it, or its flag left empty", "listener", l.name, "address", l.address, "flag", l.flag)
	}
}

// exposed returns the listeners that other machines reach without a password. Carbon's protocols and telnet have none.
func (a *Adapter) exposed() (open []listener) {
	identified := a.webConfig != nil && a.webConfig.Identifies()
	for _, l := range []struct {
		listener

		protected bool
	}{
		{listener{"http", a.Addr(), "--web.listen-address"}, identified},
		{listener{"otlp grpc", a.GRPCAddr(), "--otlp.grpc-listen-address"}, identified},
		{listener{"carbon", a.o.Carbon.ListenAddress, "--carbon.listen-address"}, false},
		{listener{"carbon pickle", a.o.Carbon.PickleAddress, "--carbon.pickle-listen-address"}, false},
		{listener{"carbon protobuf", a.o.Carbon.ProtobufAddress, "--carbon.protobuf-listen-address"}, false},
		{listener{"opentsdb telnet", a.opentsdb.Addr(), "--opentsdb.listen-address"}, false},
		{listener{"opentsdb http", a.opentsdb.Addr(), "--opentsdb.listen-address"}, identified && !a.o.OpenTSDB.OpenPuts},
	} {
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
