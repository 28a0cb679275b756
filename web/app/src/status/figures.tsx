import type {ComponentChildren} from 'preact';
import type {Scrape} from './exposition.ts';
import {bytes, count, mean, rate, seconds, share} from './scrapes.ts';

/** Figures is a list of names and values; rows without a value are left out. */
export function Figures(p: {title: string; rows: [string, ComponentChildren][]; children?: ComponentChildren}) {
  return (
    <section class="panel" aria-label={p.title}>
      <h2>{p.title}</h2>
      <table><tbody>{p.rows.filter(([, v]) => v !== '' && v !== undefined).map(([k, v]) => <tr key={k}><td>{k}</td><td class="number">{v}</td></tr>)}</tbody></table>
      {p.children}
    </section>
  );
}

interface Props {
  now: Scrape;
  before: Scrape | undefined;
}

/** LogAndMemory tells what waits to be written to the tables, and who has how much memory. */
export function LogAndMemory({now}: Props) {
  return <Figures title="Log and memory" rows={[
    ['Log', bytes(now, 'tsdbridge_log_size_bytes')],
    ['Log errors', count(now, 'tsdbridge_log_errors_total')],
    ['Points in memory', `${bytes(now, 'tsdbridge_head_bytes')} of ${bytes(now, 'tsdbridge_head_max_bytes')}`],
    ['Open hours', count(now, 'tsdbridge_head_rows')],
    ['Flush lag', seconds(now, 'tsdbridge_head_flush_lag_seconds')],
    ['Flush failures', count(now, 'tsdbridge_head_flush_failures_total')],
    ['Memory of queries', `${bytes(now, 'tsdbridge_query_memory_used_bytes')} of ${bytes(now, 'tsdbridge_query_memory_limit_bytes')}`],
    ['Queries refused for memory', count(now, 'tsdbridge_query_memory_refused_total')],
    ['Requests being written', bytes(now, 'tsdbridge_write_in_flight_bytes')],
    ['Memory of the process', bytes(now, 'process_resident_memory_bytes')],
  ]} />;
}

/** StoreFigures tells of the store, whatever its engine is. */
export function StoreFigures({now, before}: Props) {
  return <Figures title="Store" rows={[
    ['Series', count(now, 'tsdbridge_store_series')],
    ['New series', rate(now, before, 'tsdbridge_store_series_created_total')],
    ['Series refused', count(now, 'tsdbridge_store_series_refused_total')],
    ['Append, mean', mean(now, before, 'tsdbridge_store_append_duration_seconds')],
    ['Log sync, mean', mean(now, before, 'tsdbridge_log_sync_duration_seconds')],
    ...now.all('tsdbridge_store_uid_used_ratio').map((s): [string, string] => [`UIDs of ${s.labels['kind'] ?? ''}s used`, share(s.value)]),
    ['Leaves of trees', count(now, 'tsdbridge_tree_leaves')],
    ['Series that share a path', count(now, 'tsdbridge_tree_collided_series')],
    ['Deletions unfinished', count(now, 'tsdbridge_store_deletions_unfinished')],
  ]} />;
}
