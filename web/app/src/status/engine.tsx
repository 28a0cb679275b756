import {fetchIfThere} from '../lib/http.ts';
import {formatBytes, formatCount, formatNumber} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {formatTime} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';
import type {Scrape} from './exposition.ts';
import {Figures} from './figures.tsx';
import {bytes, count, perSecond, ratio} from './scrapes.ts';

interface Level {
  level: number;
  files: number;
  bytes: number;
  score: number;
  readBytes: number;
  writtenBytes: number;
}

interface Server {
  server: string;
  regions: number;
  requests: number;
  errors: number;
  p50Millis: number;
  p99Millis: number;
  lastError?: string;
  lastErrorAt?: string;
}

interface Answer {
  engine: string;
  embedded?: {path: string; levels: Level[] | null; compactions: {done: number; running: number; debtBytes: number; failed: number}; damaged: string[] | null};
  hbase?: {zookeeper: string; root: string; servers: Server[] | null; tables: {table: string; regions: number}[] | null};
}

interface Props {
  now: Scrape;
  before: Scrape | undefined;
  turn: number;
}

/** Engine tells of what keeps the tables: the levels of the embedded one, the servers of HBase. */
export function Engine(p: Props) {
  const request = useRequest(signal => fetchIfThere<Answer>('api/v1/status/engine', {}, {signal}), [], p.turn);
  const {embedded, hbase} = request.answer ?? {};
  return (
    <>
      <Failed error={request.error} />
      {p.now.sum('tsdbridge_embedded_disk_bytes') !== undefined && <EmbeddedFigures now={p.now} />}
      {embedded && <Levels all={embedded.levels ?? []} damaged={embedded.damaged ?? []} />}
      {p.now.all('tsdbridge_hbase_request_duration_seconds_count').length > 0 && <Operations now={p.now} before={p.before} />}
      {hbase && <Servers zookeeper={hbase.zookeeper} root={hbase.root} all={hbase.servers ?? []} tables={hbase.tables ?? []} />}
    </>
  );
}

function EmbeddedFigures({now}: {now: Scrape}) {
  return <Figures title="Embedded engine" rows={[
    ['Disk', bytes(now, 'tsdbridge_embedded_disk_bytes')],
    ['Disk, free', bytes(now, 'tsdbridge_embedded_disk_free_bytes')],
    ['Compaction debt', bytes(now, 'tsdbridge_embedded_compaction_debt_bytes')],
    ['Compactions', count(now, 'tsdbridge_embedded_compactions_total')],
    ['Flushes', count(now, 'tsdbridge_embedded_flushes_total')],
    ['Write stalls', count(now, 'tsdbridge_embedded_write_stalls_total')],
    ['Damaged files', count(now, 'tsdbridge_embedded_damaged_files')],
    ['Writes refused', count(now, 'tsdbridge_embedded_writes_refused_total')],
    ['Cache', bytes(now, 'tsdbridge_embedded_cache_bytes')],
    ['Cache hits', ratio(now, 'tsdbridge_embedded_cache_hits_total', 'tsdbridge_embedded_cache_misses_total')],
  ]} />;
}

function Levels(p: {all: Level[]; damaged: string[]}) {
  return (
    <section class="panel" aria-label="Levels of the engine">
      <h2>Levels of the engine</h2>
      {p.damaged.length > 0 && <p class="error" role="alert">Damaged files: {p.damaged.join(', ')}. Run tsdbridge fsck.</p>}
      <table>
        <thead><tr><th>Level</th><th class="number">Files</th><th class="number">Size</th><th class="number">Score</th><th class="number">Written</th></tr></thead>
        <tbody>{p.all.map(l => (
          <tr key={l.level}>
            <td>{l.level}</td><td class="number">{formatCount(l.files)}</td><td class="number">{formatBytes(l.bytes)}</td>
            <td class="number">{formatNumber(l.score)}</td><td class="number">{formatBytes(l.writtenBytes)}</td>
          </tr>
        ))}</tbody>
      </table>
    </section>
  );
}

function Operations(p: {now: Scrape; before: Scrape | undefined}) {
  const kinds = [...new Set(p.now.all('tsdbridge_hbase_request_duration_seconds_count').map(s => s.labels['operation'] ?? ''))];
  return <Figures title="HBase operations" rows={kinds.map(k => [k, `${formatNumber(perSecond(p.now, p.before, 'tsdbridge_hbase_request_duration_seconds_count', {operation: k}) ?? 0)}/s`])} />;
}

function Servers(p: {zookeeper: string; root: string; all: Server[]; tables: {table: string; regions: number}[]}) {
  return (
    <section class="panel" aria-label="HBase">
      <header><h2>HBase</h2><span class="dim">{p.zookeeper}{p.root}</span></header>
      <p class="dim">{p.tables.map(t => `${t.table}: ${formatCount(t.regions)} ${t.regions === 1 ? 'region' : 'regions'}`).join(' · ')}</p>
      {p.all.length === 0 ? <p class="dim">No region server was asked yet.</p> : (
        <div class="scroll short" tabIndex={0} role="group" aria-label="Region servers"><table>
          <thead><tr><th>Region server</th><th class="number">Regions</th><th class="number">Requests</th><th class="number">Errors</th><th class="number">Median</th><th class="number">99 %</th></tr></thead>
          <tbody>{p.all.map(s => (
            <tr key={s.server}>
              <td class="name">{s.server}{s.lastError && <div class="bad">{s.lastErrorAt ? `${formatTime(Date.parse(s.lastErrorAt), false).slice(0, 19)} ` : ''}{s.lastError}</div>}</td>
              <td class="number">{formatCount(s.regions)}</td><td class="number">{formatCount(s.requests)}</td>
              <td class={s.errors > 0 ? 'number bad' : 'number'}>{formatCount(s.errors)}</td>
              <td class="number">{formatNumber(s.p50Millis)} ms</td><td class="number">{formatNumber(s.p99Millis)} ms</td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}
