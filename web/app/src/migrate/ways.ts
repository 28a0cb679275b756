// What to run to bring data along, by where it comes from, and to take it away.

export interface Step {
  text: string;
  command?: string;
}

export interface Way {
  /** id is in the URL, title names where the data is. */
  id: string;
  title: string;
  steps: Step[];
  /** page of the handbook that tells more. */
  page: string;
}

/** waysTo returns the ways to an adapter and from it. base is its URL. */
export function waysTo(base: string): Way[] {
  const url = `--adapter-url=${base.replace(/\/$/, '')}`;
  const bring = (kind: string, what: string, more = '') => `tsdbridge import ${kind} \\\n  ${url} \\\n  --state=${kind}.state --progress=10s${more} \\\n  ${what}`;
  return [
    {id: 'graphite', title: 'Graphite', page: 'migrating.html#from-graphite-whisper', steps: [
      {text: 'Let the relays or senders send here too (--carbon.listen-address). Carbon\'s files of rules are read as they are.'},
      {text: 'Bring the files of whisper along. Damaged ones are printed and skipped. The same command goes on where it was interrupted.', command: bring('whisper', '/opt/graphite/storage/whisper')},
      {text: 'Those of ceres in the same way.', command: bring('ceres', '/opt/graphite/storage/ceres')},
      {text: 'Point Grafana\'s data source of type Graphite at this address, and compare. Then stop carbon.', command: base},
      {text: 'The way back:', command: `tsdbridge export whisper \\\n  ${url} DIR`},
    ]},
    {id: 'prometheus', title: 'Prometheus', page: 'migrating.html#from-prometheus', steps: [
      {text: 'Add this to prometheus.yml: new samples are here at once.', command: `remote_write:\n  - url: ${base}api/v1/write\n    send_native_histograms: true`},
      {text: 'Bring the history along: a snapshot, or a copy of its data directory. --verify compares all or a part of it afterwards.',
        command: `curl -X POST \\\n  http://prometheus:9090/api/v1/admin/tsdb/snapshot\n${bring('prometheus', '/prometheus/snapshots/NAME', ' --verify=sample')}`},
      {text: 'Let Prometheus answer from here too, or add a data source of type Prometheus with this address to Grafana.', command: `remote_read:\n  - url: ${base}api/v1/read\n    read_recent: true`},
      {text: 'The way back: blocks for the data directory of a stopped Prometheus.', command: `tsdbridge export prometheus \\\n  ${url} \\\n  --from=2026-01-01T00:00:00Z --to=2026-02-01T00:00:00Z \\\n  blocks/`},
    ]},
    {id: 'mimir', title: 'Thanos, Mimir', page: 'migrating.html#from-thanos-and-mimir', steps: [
      {text: 'Add a second remote_write to the senders.', command: `remote_write:\n  - url: ${base}api/v1/write`},
      {text: 'Copy the blocks of one tenant into a directory, those of resolution 0, and bring them along. External labels become labels.', command: bring('prometheus', './bucket-of-the-tenant', ' --verify=sample')},
      {text: 'Without access to the bucket: read them over remote read.', command: bring('remote-read', 'http://mimir:8080/prometheus/api/v1/read', ' \\\n  --header="X-Scope-OrgID: tenant" --from=90d-ago')},
    ]},
    {id: 'victoriametrics', title: 'VictoriaMetrics', page: 'migrating.html#from-victoriametrics', steps: [
      {text: 'Give vmagent a second address.', command: `-remoteWrite.url=${base}api/v1/write`},
      {text: 'Export lines of JSON, a job or a month at a time, and bring them along.',
        command: `curl -G http://vm:8428/api/v1/export \\\n  -d max_rows_per_line=100000 \\\n  --data-urlencode 'match[]={job="billing"}' |\n  gzip > billing.jsonl.gz\n${bring('victoriametrics', 'billing.jsonl.gz')}`},
      {text: 'Or in its native format, which is smaller.',
        command: `curl -G http://vm:8428/api/v1/export/native \\\n  --data-urlencode 'match[]={job="billing"}' > billing.native\n${bring('victoriametrics-native', 'billing.native')}`},
      {text: 'The way back:', command: `tsdbridge export victoriametrics \\\n  ${url} --from=30d-ago |\n  curl -X POST -T - http://vm:8428/api/v1/import`},
    ]},
    {id: 'opentsdb', title: 'OpenTSDB', page: 'migrating.html#from-opentsdb', steps: [
      {text: 'On the same tables of HBase: start with the configuration of the TSD. Nothing is copied, and the TSD may go on.',
        command: 'tsdbridge --storage.engine=hbase \\\n  --opentsdb.config=/etc/opentsdb/opentsdb.conf'},
      {text: 'Or copy the points into this store.', command: `tsdbridge export opentsdb --storage.engine=hbase \\\n  --hbase.zookeeper=zk1:2181 --output=dump/ --gzip\n${bring('opentsdb', 'dump/*.gz')}`},
      {text: 'Ask both the same, and see the differences.', command: 'tsdbridge check --tsd=http://tsd:4242 \\\n  --adapter=http://adapter:4242 --sample=1000'},
    ]},
    {id: 'text', title: 'Text, remote read', page: 'transfer.html', steps: [
      {text: 'Files in OpenMetrics, as promtool takes them for a backfill; --format=text reads Prometheus\' text format.', command: bring('openmetrics', 'FILE')},
      {text: 'Any server with remote read: Prometheus, Mimir, Cortex, M3.', command: bring('remote-read', 'http://server:9090/api/v1/read', ' \\\n  --match=\'{job="billing"}\' --from=90d-ago')},
    ]},
    {id: 'tsdbridge', title: 'Another tsdbridge', page: 'copy.html', steps: [
      {text: 'Copy a whole store into this one: embedded or HBase, other UIDs, widths and salts. OLD is the URL of an adapter, or a file of configuration that names its store.',
        command: `tsdbridge copy --from=OLD \\\n  --to=${base.replace(/\/$/, '')} \\\n  --state=copy.state --progress=10s --verify=sample`},
      {text: 'While the old one goes on receiving: follow what changes there, until you end it.', command: `tsdbridge copy --from=http://old:9201 \\\n  --to=${base.replace(/\/$/, '')} \\\n  --state=copy.state --follow --delete`},
      {text: 'Or send on what comes in from now on. In the configuration file of the old one:', command: `remote_write:\n  - url: ${base}api/v1/write`},
    ]},
    {id: 'away', title: 'Away from here', page: 'transfer.html', steps: [
      {text: 'Blocks that a Prometheus, Thanos or Mimir takes.', command: `tsdbridge export prometheus \\\n  ${url} \\\n  --state=export.state --progress=10s blocks/`},
      {text: 'Text in OpenMetrics, or lines of JSON as VictoriaMetrics has them. --match, --from and --to choose.',
        command: `tsdbridge export openmetrics \\\n  ${url} \\\n  --match='{job="billing"}' --from=30d-ago \\\n  --output=billing.om.gz\ntsdbridge export victoriametrics \\\n  ${url} \\\n  --from=30d-ago --output=dump/ --gzip`},
      {text: 'Files of Apache Parquet, for tools that analyse tables.', command: `tsdbridge export parquet \\\n  ${url} \\\n  --state=export.state --progress=10s files/`},
      {text: 'Whisper files, or OpenTSDB\'s import text.', command: `tsdbridge export whisper \\\n  ${url} DIR\ntsdbridge export opentsdb \\\n  ${url} \\\n  --output=dump/ --gzip`},
    ]},
  ];
}
