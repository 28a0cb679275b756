package cluster

import (
	"encoding/xml"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// site returns the content of hbase-site.xml for a standalone HBase in dir: ZooKeeper, master and
// region server in one JVM.
func site(dir string, zk, master, region int, extra map[string]string) map[string]string {
	const codec = "org.apache.hadoop.hbase.io.compress.aircompressor."
	s := map[string]string{
		"hbase.cluster.distributed":           "false",
		"hbase.rootdir":                       "file://" + filepath.Join(dir, "data"),
		"hbase.tmp.dir":                       filepath.Join(dir, "tmp"),
		"hbase.zookeeper.property.dataDir":    filepath.Join(dir, "zk"),
		"hbase.zookeeper.quorum":              "127.0.0.1",
		"hbase.zookeeper.property.clientPort": fmt.Sprint(zk),
		// ms; how long a killed server is thought to live
		"zookeeper.session.timeout": "10000",
		// or HBase refuses a local directory
		"hbase.unsafe.stream.capability.enforce": "false",
		"hbase.wal.provider":                     "filesystem",
		"hbase.master.port":                      fmt.Sprint(master),
		"hbase.regionserver.port":                fmt.Sprint(region),
		// the web pages are not in the Maven artifacts
		"hbase.master.info.port":             "-1",
		"hbase.regionserver.info.port":       "-1",
		"hbase.master.hostname":              "localhost",
		"hbase.unsafe.regionserver.hostname": "localhost",
		"hbase.master.ipc.address":           "127.0.0.1",
		"hbase.regionserver.ipc.address":     "127.0.0.1",
		"hbase.regionserver.handler.count":   "15",
		// ms; also bounds how long a filtered scan may stay silent
		"hbase.client.scanner.timeout.period":          "20000",
		"hbase.io.compress.snappy.codec":               codec + "SnappyCodec",
		"hbase.io.compress.lz4.codec":                  codec + "Lz4Codec",
		"hbase.io.compress.zstd.codec":                 codec + "ZstdCodec",
		"hbase.io.compress.lzo.codec":                  codec + "LzoCodec",
		"hbase.master.start.timeout.localHBaseCluster": "120000",
	}
	maps.Copy(s, extra)
	return s
}

// log4j sends warnings and errors to the standard error, which is the process's log file.
const log4j = `status = warn
rootLogger.level = WARN
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p [%t] %c{2}: %.1000m%n
`

// writeConf writes the configuration directory of HBase.
func writeConf(conf string, site map[string]string) error {
	if err := os.MkdirAll(conf, 0o755); err != nil {
		return err
	}
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	var doc struct {
		XMLName    xml.Name   `xml:"configuration"`
		Properties []property `xml:"property"`
	}
	for _, name := range slices.Sorted(maps.Keys(site)) {
		doc.Properties = append(doc.Properties, property{name, site[name]})
	}
	text, err := xml.MarshalIndent(doc, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(conf, "hbase-site.xml"), text, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(conf, "log4j2.properties"), []byte(log4j), 0o644)
}
