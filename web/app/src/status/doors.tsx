import {formatCount, formatNumber} from '../lib/format.ts';
import type {Scrape} from './exposition.ts';
import {Refused} from './refused.tsx';
import {perSecond} from './scrapes.ts';

interface Door {
  title: string;
  received: [string, Record<string, string>];
  written: [string, Record<string, string>];
  rejected: [string, Record<string, string>];
  /** undefined: the door does not count what its sender repeats. */
  failed?: [string, Record<string, string>];
}

function door(title: string, prefix: string, labels: Record<string, string>): Door {
  return {
    title, received: [`${prefix}_received_total`, labels], written: [`${prefix}_written_total`, labels],
    rejected: [`${prefix}_rejected_total`, labels], failed: [`${prefix}_failed_total`, labels],
  };
}

export const doors: Door[] = [
  door('Remote write 1.0', 'tsdbridge_write_samples', {protocol: 'remote_write_1'}),
  door('Remote write 2.0', 'tsdbridge_write_samples', {protocol: 'remote_write_2'}),
  {
    title: 'OpenTelemetry', received: ['tsdbridge_otlp_received_data_points_total', {}], written: ['tsdbridge_otlp_written_data_points_total', {}],
    rejected: ['tsdbridge_otlp_rejected_data_points_total', {}], failed: ['tsdbridge_otlp_failed_data_points_total', {}],
  },
  {
    title: 'Text over HTTP', received: ['tsdbridge_import_text_samples_total', {}], written: ['tsdbridge_import_text_samples_total', {outcome: 'written'}],
    rejected: ['tsdbridge_import_text_samples_total', {outcome: 'rejected'}],
  },
  door('Carbon', 'tsdbridge_graphite_points', {}),
  door('OpenTSDB over HTTP', 'tsdbridge_opentsdb_points', {protocol: 'http'}),
  door('OpenTSDB telnet', 'tsdbridge_opentsdb_points', {protocol: 'telnet'}),
];

/** Doors tells what comes in, by protocol, and what was refused. */
export function Doors(p: {now: Scrape; before: Scrape | undefined; turn: number}) {
  const reasons = p.now.all('tsdbridge_carbon_rejected_lines_total').filter(s => s.value > 0);
  return (
    <section class="panel" aria-label="What comes in">
      <h2>What comes in</h2>
      <div class="scroll" tabIndex={0}><table>
        <thead><tr><th>Protocol</th><th class="number">Points per second</th><th class="number">Received</th><th class="number">Written</th><th class="number">Rejected</th><th class="number">Failed</th></tr></thead>
        <tbody>{doors.map(d => {
          const now = perSecond(p.now, p.before, ...d.received);
          return (
            <tr key={d.title}>
              <td>{d.title}</td>
              <td class="number">{now === undefined ? '…' : formatNumber(now)}</td>
              {[d.received, d.written].map(([name, labels], i) => <td class="number" key={i}>{formatCount(p.now.sum(name, labels) ?? 0)}</td>)}
              {[d.rejected, d.failed].map((counter, i) => {
                if (!counter) return <td class="number" key={i}>–</td>;
                const n = p.now.sum(...counter) ?? 0;
                return <td class={n > 0 ? 'number bad' : 'number'} key={i}>{formatCount(n)}</td>;
              })}
            </tr>
          );
        })}</tbody>
      </table></div>
      {reasons.length > 0 && <p class="note">Carbon lines that were refused: {reasons.map(s => `${s.labels['reason']} ${formatCount(s.value)}`).join(', ')}.</p>}
      <Refused turn={p.turn} />
    </section>
  );
}
