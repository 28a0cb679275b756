import {admin, whyReadOnly} from '../lib/server.ts';

interface Way {
  title: string;
  steps: {text: string; command?: string}[];
}

const ways: Way[] = [
  {title: 'From Graphite (whisper files)', steps: [
    {text: 'Send new points here first: carbon\'s relay, or your senders, to --carbon.listen-address. Its rules files are read as they are.'},
    {text: 'Bring the files along. Damaged ones are reported and skipped; a second run goes on where the first ended.', command: 'tsdbridge import whisper /var/lib/graphite/whisper'},
    {text: 'Point Grafana\'s Graphite data source at this address and compare.'},
    {text: 'The way back:', command: 'tsdbridge export whisper DIR'},
  ]},
  {title: 'From OpenTSDB', steps: [
    {text: 'On the same HBase tables: start with the TSD\'s own configuration.', command: 'tsdbridge --storage.engine=hbase --opentsdb.config=/etc/opentsdb/opentsdb.conf'},
    {text: 'Or copy the points into another store.', command: 'tsdbridge export opentsdb --storage.engine=hbase --hbase.zookeeper=zk1 | tsdbridge import opentsdb --storage.path=data -'},
    {text: 'Ask both what your dashboards ask, and see the differences.', command: 'tsdbridge check --tsd=http://tsd:4242 --adapter=http://localhost:4242 --sample=1000'},
  ]},
  {title: 'From Prometheus', steps: [
    {text: 'Add this to prometheus.yml; new samples are here at once.', command: 'remote_write:\n  - url: http://THIS-HOST:9201/api/v1/write\n    send_native_histograms: true'},
    {text: 'And this, so that Prometheus answers from here too.', command: 'remote_read:\n  - url: http://THIS-HOST:9201/api/v1/read'},
  ]},
];

/** Migrate tells what to run to bring data along. */
export function Migrate() {
  return (
    <>
      <h1>Migrate</h1>
      {!admin() && <p class="note">While this adapter runs, imports into its store go through it. {whyReadOnly}</p>}
      <div class="columns">
        {ways.map(w => (
          <section class="panel" key={w.title} aria-label={w.title}>
            <h2>{w.title}</h2>
            <ol class="steps">{w.steps.map((s, i) => (
              <li key={i}>{s.text}{s.command && <pre class="raw" tabIndex={0}>{s.command.replaceAll('THIS-HOST:9201', location.host)}</pre>}</li>
            ))}</ol>
          </section>
        ))}
      </div>
    </>
  );
}
