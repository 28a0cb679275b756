import {useState} from 'preact/hooks';
import {explore} from '../browse/browse.tsx';
import {showLabels} from '../lib/frame.ts';
import {fetchData} from '../lib/http.ts';
import {formatBytes, formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {go} from '../lib/route.ts';

interface Count {
  name: string;
  value: number;
}

interface Cardinality {
  headStats: {numSeries: number; numLabelPairs: number; chunkCount: number};
  seriesCountByMetricName: Count[];
  labelValueCountByLabelName: Count[];
  memoryInBytesByLabelName: Count[];
  seriesCountByLabelValuePair: Count[];
}

type Metadata = Record<string, {type: string; help: string; unit: string}[]>;

/** Metrics tells what there is most of, and everything about one metric. */
export function Metrics(p: {params: URLSearchParams}) {
  const metric = p.params.get('metric') ?? '';
  return (
    <>
      <h1>Metrics</h1>
      <Finder metric={metric} />
      {metric === '' ? <Overview /> : <One key={metric} metric={metric} />}
    </>
  );
}

function show(metric: string): void {
  go('metrics', metric === '' ? new URLSearchParams() : new URLSearchParams({metric}));
}

function Finder(p: {metric: string}) {
  const [text, setText] = useState('');
  const found = useRequest(
    text === '' ? undefined : signal => fetchData<string[]>('api/v1/label/__name__/values', {'match[]': `{__name__=~${JSON.stringify(`.*${escape(text)}.*`)}}`, limit: 50}, {signal}),
    [text],
  );
  return (
    <section class="panel" aria-label="Find a metric">
      <label>Find a metric <input type="search" value={text} size={40} onInput={e => setText(e.currentTarget.value)} /></label>
      {p.metric !== '' && <button onClick={() => show('')}>All metrics</button>}
      {found.error !== '' && <p class="error" role="alert">{found.error}</p>}
      {text !== '' && found.answer && (
        <ul class="found">{found.answer.map(m => <li key={m}><button class="plain" onClick={() => { setText(''); show(m); }}>{m}</button></li>)}
          {found.answer.length === 0 && <li class="dim">No metric has this in its name.</li>}</ul>
      )}
    </section>
  );
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

function Overview() {
  const request = useRequest(signal => fetchData<Cardinality>('api/v1/status/tsdb', {limit: 20}, {signal}), []);
  const c = request.answer;
  if (request.error !== '') return <p class="error" role="alert">{request.error}</p>;
  if (!c) return <p class="dim">Counting…</p>;
  return (
    <>
      <dl class="figures">
        <div><dt>Series</dt><dd>{formatCount(c.headStats.numSeries)}</dd></div>
        <div><dt>Label pairs</dt><dd>{formatCount(c.headStats.numLabelPairs)}</dd></div>
        <div><dt>Open hours in memory</dt><dd>{formatCount(c.headStats.chunkCount)}</dd></div>
      </dl>
      <div class="columns">
        <Counts title="Series by metric" all={c.seriesCountByMetricName} onPick={show} />
        <Counts title="Values by label" all={c.labelValueCountByLabelName} />
        <Counts title="Series by label and value" all={c.seriesCountByLabelValuePair.filter(v => !v.name.startsWith('__name__='))} />
        <Counts title="Memory by label" all={c.memoryInBytesByLabelName} format={formatBytes} />
      </div>
    </>
  );
}

function Counts(p: {title: string; all: Count[]; format?: (n: number) => string; onPick?: (name: string) => void}) {
  const most = Math.max(1, ...p.all.map(c => c.value));
  return (
    <section class="panel" aria-label={p.title}>
      <h2>{p.title}</h2>
      <table>
        <tbody>{p.all.map(c => (
          <tr key={c.name}>
            <td class="name">{p.onPick ? <button class="plain" onClick={() => p.onPick!(c.name)}>{c.name}</button> : c.name}
              <meter class="share" min={0} max={most} value={c.value} aria-hidden="true" /></td>
            <td class="number">{(p.format ?? formatCount)(c.value)}</td>
          </tr>
        ))}</tbody>
      </table>
      {p.all.length === 0 && <p class="dim">There are none yet.</p>}
    </section>
  );
}

const mostSeries = 5000;

/** One tells about a metric: its metadata, its labels, series without points of late, exemplars. */
function One(p: {metric: string}) {
  const selector = `{__name__=${JSON.stringify(p.metric)}}`;
  const now = Math.floor(Date.now() / 1000);
  const all = useRequest(signal => fetchData<Record<string, string>[]>('api/v1/series', {'match[]': selector, limit: mostSeries}, {signal}), []);
  const active = useRequest(signal => fetchData<{result: {metric: Record<string, string>}[]}>(
    'api/v1/query', {query: `max_over_time(timestamp(${selector})[1h:5m]) or count_over_time(${selector}[1h])`}, {signal}), []);
  const metadata = useRequest(signal => fetchData<Metadata>('api/v1/metadata', {metric: p.metric}, {signal}), []);
  const exemplars = useRequest(signal => fetchData<{seriesLabels: Record<string, string>; exemplars: {labels: Record<string, string>; value: string; timestamp: number}[]}[]>(
    'api/v1/query_exemplars', {query: selector, start: now - 3600, end: now}, {signal}), []);
  const series = all.answer ?? [];
  const labels = countLabels(series);
  const about = metadata.answer?.[p.metric]?.[0];
  return (
    <>
      <section class="panel" aria-label="About">
        <h2><code>{p.metric}</code></h2>
        {about ? <p>{about.type !== 'unknown' && <b>{about.type} </b>}{about.help}{about.unit !== '' && <span class="dim"> in {about.unit}</span>}</p> : <p class="dim">No metadata was sent.</p>}
        <p>
          {formatCount(series.length)}{series.length === mostSeries ? ' or more' : ''} series{active.answer && `, ${formatCount(active.answer.result.length)} of them with points in the last hour`}.
          {' '}<button onClick={() => explore('promql', selector)}>Graph</button>
        </p>
        {all.error !== '' && <p class="error" role="alert">{all.error}</p>}
      </section>
      <div class="columns">
        {labels.map(l => (
          <section class="panel" key={l.name} aria-label={`Label ${l.name}`}>
            <h2>{l.name} <span class="dim">{formatCount(l.values.length)} values</span></h2>
            <table><tbody>{l.values.slice(0, 20).map(v => (
              <tr key={v.name}>
                <td class="name"><button class="plain" onClick={() => explore('promql', showLabels({__name__: p.metric, [l.name]: v.name}))}>{v.name === '' ? '(none)' : v.name}</button>
                  <meter class="share" min={0} max={l.values[0]!.value} value={v.value} aria-hidden="true" /></td>
                <td class="number">{formatCount(v.value)}</td>
              </tr>
            ))}</tbody></table>
          </section>
        ))}
      </div>
      {(exemplars.answer?.length ?? 0) > 0 && (
        <section class="panel" aria-label="Exemplars">
          <h2>Exemplars of the last hour</h2>
          <table>
            <thead><tr><th>Series</th><th>Exemplar</th><th class="number">Value</th></tr></thead>
            <tbody>{exemplars.answer!.flatMap(s => s.exemplars.map(e => ({s, e}))).slice(0, 100).map(({s, e}, i) => (
              <tr key={i}><td>{showLabels(s.seriesLabels)}</td><td>{showLabels(e.labels)}</td><td class="number">{e.value}</td></tr>
            ))}</tbody>
          </table>
        </section>
      )}
    </>
  );
}

function countLabels(series: Record<string, string>[]): {name: string; values: Count[]}[] {
  const all = new Map<string, Map<string, number>>();
  for (const labels of series) {
    for (const [k, v] of Object.entries(labels)) {
      if (k === '__name__') continue;
      const values = all.get(k) ?? new Map<string, number>();
      values.set(v, (values.get(v) ?? 0) + 1);
      all.set(k, values);
    }
  }
  return [...all].map(([name, values]) => ({
    name, values: [...values].map(([name, value]) => ({name, value})).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1)),
  })).sort((a, b) => b.values.length - a.values.length);
}
