package cli

import (
	"errors"
	"net"
	"strings"
)

// quorum is a flag for the addresses of a ZooKeeper quorum: host:port, separated by commas, with blanks around them or
// without, as HBase takes them.
type quorum string

// Set implements kingpin.Value.
func (q *quorum) Set(text string) error {
	hosts, err := parseQuorum(text)
	*q = quorum(hosts)
	return err
}

// String implements kingpin.Value.
func (q *quorum) String() string { return string(*q) }

// zooKeeperPort is the port of a host without one.
const zooKeeperPort = "2181"

// parseQuorum returns the addresses without blanks, each with its port.
func parseQuorum(text string) (string, error) {
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
