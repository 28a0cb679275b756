package netserver

import (
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Hosts are the names by which browsers may reach a port. A page of a stranger whose name has come to stand for an
// address of ours (DNS rebinding) is of one origin with us, for the browser: it may read and send what it likes. What
// it cannot change is the name, which is in the Host of its requests. Names that no stranger can have are always
// allowed: addresses, names without a dot (of containers and local machines), and those under a domain that DNS does
// not hand out. Others must be known.
type Hosts struct {
	any   bool
	names []string // in lower case; with a dot in front for all below
}

// privateDomains are the domains under which nobody registers a name: RFC 6761, 6762 and 8375, ICANN's .internal, and
// the end of the short names of Kubernetes' services.
var privateDomains = []string{".localhost", ".local", ".home.arpa", ".internal", ".svc"}

// ParseHosts reads names, several with commas between them: a name, *.NAME for all below it, * for every one.
func ParseHosts(list []string) (*Hosts, error) {
	h := &Hosts{}
	for _, text := range list {
		for given := range strings.SplitSeq(text, ",") {
			given = strings.TrimSpace(given)
			rest, below := strings.CutPrefix(given, "*.")
			name := nameOf(rest)
			switch {
			case given == "*":
				h.any = true
			case name == "" || strings.ContainsAny(rest, "/*@ "):
				return nil, fmt.Errorf("%q is no name of a host such as metrics.example.org or *.example.org", given)
			case below:
				h.names = append(h.names, "."+name)
			default:
				h.names = append(h.names, name)
			}
		}
	}
	return h, nil
}

// Add allows the names of hosts, with or without ports; empty ones are passed over.
func (h *Hosts) Add(hosts ...string) {
	for _, host := range hosts {
		if name := nameOf(host); name != "" {
			h.names = append(h.names, name)
		}
	}
}

// nameOf returns the name in a Host, without its port and in lower case. A dot at its end changes nothing.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// allow reports whether a browser may use a host.
func (h *Hosts) allow(host string) bool {
	name := nameOf(host)
	if h.any || !strings.Contains(name, ".") {
		return true
	}
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	under := func(known string) bool {
		return name == known || strings.HasPrefix(known, ".") && strings.HasSuffix(name, known)
	}
	return slices.ContainsFunc(privateDomains, under) || slices.ContainsFunc(h.names, under)
}

// browserFields are fields that browsers send, and other programs do not: Accept-Language with each request, the
// others with some. A script cannot have a request without the first one.
var browserFields = []string{"Accept-Language", "Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Sec-Fetch-User"}

// fromBrowser reports whether a request comes from a browser, perhaps through a proxy. What says that there is a proxy
// (X-Forwarded-For) is no sign: scripts can send it.
func fromBrowser(r *http.Request) bool {
	for _, field := range browserFields {
		if _, ok := r.Header[field]; ok {
			return true
		}
	}
	return strings.HasPrefix(r.UserAgent(), "Mozilla/")
}

// isProbe reports whether a path tells nothing that a stranger may not know; what asks for it sends what it likes.
func isProbe(path string) bool { return path == "/-/healthy" || path == "/-/ready" }

// Guard refuses requests of browsers for hosts that are not ours.
func (h *Hosts) Guard(next http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.allow(r.Host) || !fromBrowser(r) || isProbe(r.URL.Path) {
			next.ServeHTTP(w, r)
			return
		}
		logger.Warn("a browser's request named an unknown host and was refused; if the host is this server, add it to --web.hosts", "host", r.Host, "client", r.RemoteAddr)
		w.Header().Set("Connection", "close")
		http.Error(w, fmt.Sprintf("browsers may not reach this port as %q: start it with --web.hosts=NAME or --web.external-url if the name is right", r.Host), http.StatusForbidden)
	})
}
