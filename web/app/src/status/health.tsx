import type {ComponentChildren} from 'preact';
import {fetchData, fetchText} from '../lib/http.ts';
import {formatBytes, formatCount, formatAge, formatNumber} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {version} from '../lib/server.ts';
import {Failed} from '../lib/waiting.tsx';
import {countOf, doors} from './doorlist.ts';
import {perSecond, type Scrapes} from './scrapes.ts';
import {isWarning} from './readiness.ts';

/** Health tells whether the process is ready, and why not. */
export function Health(p: {turn: number}) {
  const ready = useRequest(signal => fetchText('-/ready', {verbose: 1}, {signal}), [], p.turn);
  const build = useRequest(signal => fetchData<Record<string, string>>('api/v1/status/buildinfo', {}, {signal}), []);
  const run = useRequest(signal => fetchData<{startTime: string; hostname: string}>('api/v1/status/runtimeinfo', {}, {signal}), []);
  const lines = (ready.answer ?? '').trim().split('\n').slice(1);
  const b = build.answer;
  return (
    <section class="panel" aria-label="Health">
      <header>
        <h2>Health</h2>
        {ready.error === '' && ready.answer !== undefined && <span class="badge good">Ready</span>}
        {ready.error !== '' && <span class="badge bad">Not ready</span>}
        <span class="dim end">
          {b && <>Version {version()}{b['revision'] ? `, revision ${b['revision'].slice(0, 12)}` : ''}, {b['goVersion']}</>}
          {run.answer && <> · {run.answer.hostname}, running for {formatAge((Date.now() - Date.parse(run.answer.startTime)) / 1000)}</>}
        </span>
      </header>
      <Failed error={ready.error} />
      {lines.length > 0 && <ul class="checks">{lines.map((l, i) => <li key={i} class={isWarning(l) ? 'warn' : undefined}>{l}</li>)}</ul>}
    </section>
  );
}

/** Tiles are the figures that are looked at first. */
export function Tiles(p: Scrapes) {
  const {now, before} = p;
  if (!now) return null;
  const comes = doors.map(d => perSecond(now, before, ...d.received));
  const sum = comes.every(v => v === undefined) ? undefined : comes.reduce<number>((n, v) => n + (v ?? 0), 0);
  const refused = doors.map(d => countOf(d, now)).reduce((n, c) => n + c.rejected + (c.failed ?? 0), 0);
  const queries = perSecond(now, before, 'tsdbridge_query_duration_seconds_count');
  const free = now.sum('tsdbridge_embedded_disk_free_bytes');
  const disk = now.sum('tsdbridge_embedded_disk_bytes');
  return (
    <dl class="tiles">
      <Tile title="Points per second" note={refused > 0 ? `${formatCount(refused)} refused since the start` : 'none refused'}>{sum === undefined ? '…' : formatNumber(sum)}</Tile>
      <Tile title="Series" note={`${formatCount(now.sum('tsdbridge_store_series_created_total') ?? 0)} new since the start`}>{formatCount(now.sum('tsdbridge_store_series') ?? 0)}</Tile>
      <Tile title="Queries per second" note={`${formatBytes(now.sum('tsdbridge_query_memory_used_bytes') ?? 0)} of memory now`}>{queries === undefined ? '…' : formatNumber(queries)}</Tile>
      <Tile title="Memory of the process" note={`${formatBytes(now.sum('tsdbridge_head_bytes') ?? 0)} of points`}>{formatBytes(now.sum('process_resident_memory_bytes') ?? 0)}</Tile>
      {disk !== undefined && <Tile title="Disk" note={free === undefined ? '' : `${formatBytes(free)} free`}>{formatBytes(disk + (now.sum('tsdbridge_log_size_bytes') ?? 0))}</Tile>}
    </dl>
  );
}

function Tile(p: {title: string; note: string; children: ComponentChildren}) {
  return <div><dt>{p.title}</dt><dd>{p.children}<small>{p.note}</small></dd></div>;
}
