package flagvalue

import (
	"errors"
	"net"
	"strings"
)

// A Quorum is a flag for the addresses of a ZooKeeper quorum: host:port, separated by commas, with blanks around them or
// without, as HBase takes them.
type Quorum string

// Set implements kingpin.Value.
func (q *Quorum) Set(text string) error {
	hosts, err := ParseQuorum(text)
	*q = Quorum(hosts)
	return err
}

// String implements kingpin.Value.
func (q *Quorum) String() string { return string(*q) }

// zooKeeperPort is the port of a host without one.
const zooKeeperPort = "2181"

// ParseQuorum returns the addresses without blanks, each with its port.
func ParseQuorum(text string) (string, error) {
	var hosts []string
	for host := range strings.SplitSeq(text, ",") {
		switch host = strings.TrimSpace(host); {
		case host == "":
			continue
		case strings.ContainsAny(host, " \t\r\n"):
			return "", errors.New("want host:port, separated by commas")
		case !strings.Contains(host, ":"):
			host = net.JoinHostPort(host, zooKeeperPort)
		}
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, ","), nil
}
