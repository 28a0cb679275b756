import type {ComponentChildren} from 'preact';
import {useEffect, useRef, useState} from 'preact/hooks';
import {fetchData, fetchText, messageOf} from '../lib/http.ts';
import {formatBytes, formatCount, formatNumber, formatSeconds} from '../lib/format.ts';
import {useEvery, useRequest} from '../lib/request.ts';
import {admin} from '../lib/server.ts';
import {Doors} from './doors.tsx';
import {Scrape} from './exposition.ts';
import {LastLog} from './lastlog.tsx';
import {Queries, SlowQueries} from './queries.tsx';

/** Status tells how the process is, a second ago and since it began. */
export function Status() {
  const turn = useEvery(5);
  const ready = useRequest(signal => fetchText('-/ready', {verbose: 1}, {signal}), [turn]);
  const build = useRequest(signal => fetchData<Record<string, string>>('api/v1/status/buildinfo', {}, {signal}), []);
  const [now, before] = useScrapes(turn);
  return (
    <>
      <h1>Status</h1>
      <section class="panel" aria-label="Health">
        <h2>Health</h2>
        {ready.error !== '' ? <p class="error" role="alert">{ready.error}</p> : ready.answer && <p class="good">Ready</p>}
        {ready.answer && <pre class="raw">{ready.answer.trim()}</pre>}
        <p class="dim">Version {build.answer?.['version'] ?? '…'}, revision {build.answer?.['revision'] ?? '…'}, {build.answer?.['goVersion']}.</p>
      </section>
      <Queries turn={turn} admin={admin()} />
      <SlowQueries turn={turn} />
      <LastLog turn={turn} />
      {now && <Doors now={now} before={before} />}
      {now && (
        <div class="columns">
          <Figures title="Log and memory" rows={[
            ['Log', bytes(now, 'tsdbridge_log_size_bytes')],
            ['Log errors', count(now, 'tsdbridge_log_errors_total')],
            ['Points in memory', `${bytes(now, 'tsdbridge_head_bytes')} of ${bytes(now, 'tsdbridge_head_max_bytes')}`],
            ['Open hours', count(now, 'tsdbridge_head_rows')],
            ['Flush lag', seconds(now, 'tsdbridge_head_flush_lag_seconds')],
            ['Flush failures', count(now, 'tsdbridge_head_flush_failures_total')],
            ['Memory of queries', `${bytes(now, 'tsdbridge_query_memory_used_bytes')} of ${bytes(now, 'tsdbridge_query_memory_limit_bytes')}`],
            ['Queries refused for memory', count(now, 'tsdbridge_query_memory_refused_total')],
            ['Memory of the process', bytes(now, 'process_resident_memory_bytes')],
          ]} />
          <Figures title="Store" rows={[
            ['Series', count(now, 'tsdbridge_store_series')],
            ['New series', rate(now, before, 'tsdbridge_store_series_created_total')],
            ['Series refused', count(now, 'tsdbridge_store_series_refused_total')],
            ['Append, mean', mean(now, before, 'tsdbridge_store_append_seconds')],
            ['Log sync, mean', mean(now, before, 'tsdbridge_log_sync_seconds')],
            ...now.all('tsdbridge_store_uid_used_ratio').map((s): [string, string] => [`UIDs of ${s.labels['kind'] ?? ''}s used`, share(s.value)]),
            ['Deletions unfinished', count(now, 'tsdbridge_store_deletions_unfinished')],
          ]} />
          {now.sum('tsdbridge_embedded_disk_bytes') !== undefined && <Figures title="Embedded engine" rows={[
            ['Disk', bytes(now, 'tsdbridge_embedded_disk_bytes')],
            ['Disk, free', bytes(now, 'tsdbridge_embedded_disk_free_bytes')],
            ['Compaction debt', bytes(now, 'tsdbridge_embedded_compaction_debt_bytes')],
            ['Files of level 0', count(now, 'tsdbridge_embedded_level0_files')],
            ['Damaged files', count(now, 'tsdbridge_embedded_damaged_files')],
            ['Writes refused', count(now, 'tsdbridge_embedded_writes_refused_total')],
            ['Cache hits', ratio(now, 'tsdbridge_embedded_cache_hits_total', 'tsdbridge_embedded_cache_misses_total')],
          ]} />}
          {now.all('tsdbridge_hbase_operations_total').length > 0 && <HBase now={now} before={before} />}
        </div>
      )}
      <Flags />
    </>
  );
}

/** useScrapes keeps the last two scrapes. */
function useScrapes(turn: number): [Scrape | undefined, Scrape | undefined] {
  const [last, set] = useState<[Scrape | undefined, Scrape | undefined]>([undefined, undefined]);
  const soon = useRef(false);
  const [early, setEarly] = useState(0);
  useEffect(() => {
    const control = new AbortController();
    fetchText('metrics', {}, {signal: control.signal}).then(text => {
      set(([now]) => [new Scrape(text), now]);
      if (!soon.current) { // the first rates come after a second
        soon.current = true;
        setTimeout(() => setEarly(1), 1000);
      }
    }, e => console.warn(messageOf(e)));
    return () => control.abort();
  }, [turn, early]);
  return last;
}

export function Figures(p: {title: string; rows: [string, ComponentChildren][]}) {
  return (
    <section class="panel" aria-label={p.title}>
      <h2>{p.title}</h2>
      <table><tbody>{p.rows.filter(([, v]) => v !== '' && v !== undefined).map(([k, v]) => <tr key={k}><td>{k}</td><td class="number">{v}</td></tr>)}</tbody></table>
    </section>
  );
}

function bytes(s: Scrape, name: string): string {
  const v = s.sum(name);
  return v === undefined ? '' : formatBytes(v);
}

function count(s: Scrape, name: string): string {
  const v = s.sum(name);
  return v === undefined ? '' : formatCount(v);
}

function seconds(s: Scrape, name: string): string {
  const v = s.sum(name);
  return v === undefined ? '' : formatSeconds(v);
}

/** perSecond is how much a counter grew between two scrapes. */
export function perSecond(now: Scrape, before: Scrape | undefined, name: string, labels: Record<string, string> = {}): number | undefined {
  const a = now.sum(name, labels);
  const b = before?.sum(name, labels);
  return a === undefined || b === undefined || !before ? undefined : Math.max(0, a - b) / ((now.at - before.at) / 1000);
}

function rate(now: Scrape, before: Scrape | undefined, name: string): string {
  const v = perSecond(now, before, name);
  return v === undefined ? '…' : `${formatNumber(v)}/s`;
}

function mean(now: Scrape, before: Scrape | undefined, name: string): string {
  const n = (now.sum(`${name}_count`) ?? 0) - (before?.sum(`${name}_count`) ?? 0);
  const s = (now.sum(`${name}_sum`) ?? 0) - (before?.sum(`${name}_sum`) ?? 0);
  return n > 0 ? formatSeconds(s / n) : '–';
}

/** share writes a part of all in per cent. */
function share(v: number): string {
  return v > 0 && v < 1e-4 ? 'below 0.01 %' : `${formatNumber(v * 100)} %`;
}

function ratio(s: Scrape, hits: string, misses: string): string {
  const h = s.sum(hits) ?? 0;
  const m = s.sum(misses) ?? 0;
  return h + m === 0 ? '–' : share(h / (h + m));
}

function HBase(p: {now: Scrape; before: Scrape | undefined}) {
  const kinds = [...new Set(p.now.all('tsdbridge_hbase_operations_total').map(s => s.labels['operation'] ?? ''))];
  return <Figures title="HBase" rows={kinds.map(k => [k, `${formatNumber(perSecond(p.now, p.before, 'tsdbridge_hbase_operations_total', {operation: k}) ?? 0)}/s`])} />;
}

function Flags() {
  const [text, setText] = useState('');
  const flags = useRequest(signal => fetchData<Record<string, string>>('api/v1/status/flags', {}, {signal}), []);
  const rows = Object.entries(flags.answer ?? {}).filter(([k, v]) => `${k} ${v}`.includes(text));
  return (
    <section class="panel" aria-label="Flags">
      <details>
        <summary><b>Flags</b></summary>
        <label>Filter <input type="search" value={text} onInput={e => setText(e.currentTarget.value)} /></label>
        <table><tbody>{rows.map(([k, v]) => <tr key={k}><td><code>--{k}</code></td><td>{v}</td></tr>)}</tbody></table>
      </details>
    </section>
  );
}
