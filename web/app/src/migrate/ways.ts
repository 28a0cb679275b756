// What to run to bring data along, by where it comes from.

export interface Step {
  text: string;
  command?: string;
}

export interface Way {
  title: string;
  steps: Step[];
}

/** waysTo returns the ways to an adapter. base is its URL. */
export function waysTo(base: string): Way[] {
  const url = `--adapter-url=${base.replace(/\/$/, '')}`;
  return [
    {title: 'From Graphite', steps: [
      {text: 'Let the relays or senders send here too (--carbon.listen-address). Carbon\'s files of rules are read as they are.'},
      {text: 'Bring the files of whisper along. Damaged ones are printed and skipped. The same command goes on where it was interrupted.',
        command: `tsdbridge import whisper ${url} \\\n  --state=import.state --progress=10s /opt/graphite/storage/whisper`},
      {text: 'Those of ceres in the same way.', command: `tsdbridge import ceres ${url} \\\n  --state=ceres.state --progress=10s /opt/graphite/storage/ceres`},
      {text: 'Point Grafana\'s data source of type Graphite at this address, and compare. Then stop carbon.', command: base},
      {text: 'The way back:', command: `tsdbridge export whisper ${url} DIR`},
    ]},
    {title: 'From OpenTSDB', steps: [
      {text: 'On the same tables of HBase: start with the configuration of the TSD. Nothing is copied, and the TSD may go on.',
        command: 'tsdbridge --storage.engine=hbase \\\n  --opentsdb.config=/etc/opentsdb/opentsdb.conf'},
      {text: 'Or copy the points into this store.', command: `tsdbridge export opentsdb --storage.engine=hbase \\\n  --hbase.zookeeper=zk1:2181 --output=dump/ --gzip\ntsdbridge import opentsdb ${url} \\\n  --state=import.state --progress=10s dump/*.gz`},
      {text: 'Ask both the same, and see the differences.', command: 'tsdbridge check --tsd=http://tsd:4242 \\\n  --adapter=http://adapter:4242 --sample=1000'},
    ]},
    {title: 'From Prometheus', steps: [
      {text: 'Add this to prometheus.yml: new samples are here at once.', command: `remote_write:\n  - url: ${base}api/v1/write\n    send_native_histograms: true`},
      {text: 'And this, so that Prometheus answers from here too.', command: `remote_read:\n  - url: ${base}api/v1/read\n    read_recent: true`},
      {text: 'Or add a data source of type Prometheus with this address to Grafana.', command: base},
    ]},
  ];
}
