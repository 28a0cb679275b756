package adapter

import "github.com/tsdbridge/tsdbridge/storage/pebble"

// What opens files without a limit of its own is bounded by how many the process may have open: the
// connections of all ports, and the files of the store. Else connections of one port would take
// what HTTP and the store need.

const (
	// ownFiles are kept for the log, the index of the store, connections to other servers, and all
	// else that opens few files.
	ownFiles = 256
	// storeFiles is how many files of tables the embedded engine has open at most.
	storeFiles = pebble.DefaultOpenFiles
)

// A portLimit is the limit of the connections of some ports, each of which may have as many.
type portLimit struct {
	flag  string
	most  *int
	ports int
}

// portLimits returns the limits of all ports that are listened on.
func (o *Options) portLimits() []portLimit {
	var all []portLimit
	add := func(flag string, most *int, addresses ...string) {
		p := portLimit{flag: flag, most: most}
		for _, address := range addresses {
			if address != "" {
				p.ports++
			}
		}
		if p.ports > 0 {
			all = append(all, p)
		}
	}
	add("--web.max-connections", &o.MaxConnections, o.ListenAddress, o.OTLPGRPCAddress)
	add("--carbon.max-connections", &o.Carbon.MaxConnections, o.Carbon.ListenAddress, o.Carbon.PickleAddress, o.Carbon.ProtobufAddress)
	add("--opentsdb.max-connections", &o.OpenTSDB.MaxConnections, o.OpenTSDB.ListenAddress)
	return all
}

// fitOpenFiles lowers the limits of connections and of the store's files to what the process may have
// open; 0: that is not known. Half of it is for the store and all else at most.
func (o *Options) fitOpenFiles(limit int) {
	o.StoreFiles = storeFiles
	if limit <= 0 {
		return
	}
	kept := min(limit/2, ownFiles+storeFiles)
	o.StoreFiles = min(storeFiles, max(kept-ownFiles, kept/2))
	for _, p := range fitPorts(limit-kept, o.portLimits()) {
		o.Logger.Warn("the limit of open files allows fewer connections than the flag; raise it (LimitNOFILE of systemd, ulimit -n)",
			"flag", p.flag, "open_files", limit, "connections", *p.most)
	}
}

// fitPorts lowers limits so that all ports together have so many connections at most. Each port keeps
// an equal share of them; what one does not need the others have. It returns those that were lowered.
func fitPorts(connections int, all []portLimit) (lowered []portLimit) {
	left, ports := connections, 0
	for _, p := range all {
		ports += p.ports
	}
	for len(all) > 0 {
		share, rest := max(left/ports, 1), all[:0:0]
		for _, p := range all {
			if *p.most > share {
				rest = append(rest, p)
				continue
			}
			left, ports = left-*p.most*p.ports, ports-p.ports
		}
		if len(rest) < len(all) {
			all = rest
			continue
		}
		for _, p := range all {
			*p.most = share
		}
		return all
	}
	return nil
}
