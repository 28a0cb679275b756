// Command tsdbridge stores series of Prometheus, Graphite and OpenTSDB clients in the OpenTSDB
// schema, on HBase or in an embedded store, and answers queries.
package main

import (
	"os"

	"github.com/tsdbridge/tsdbridge/cli"
)

func main() {
	os.Exit(cli.Run(os.Args[1:], os.Stdout, os.Stderr))
}
