import {formatAge, formatBytes, formatCount, formatNumber} from '../lib/format.ts';
import {Text} from '../lib/text.tsx';
import type {Scrape} from './exposition.ts';
import {perSecond} from './scrapes.ts';

const lag = 'tsdbridge_remote_write_lag_seconds';
const sent = 'tsdbridge_remote_write_sent_samples_total';
const dropped = 'tsdbridge_remote_write_dropped_samples_total';

/** intended are reasons for which the configuration wants samples to be dropped. */
const intended = ['relabel'];

/** late is the lag in seconds that is shown as a warning: requests are sent at least so often. */
const late = 60;

/** Forwarding tells of each destination of remote_write how far it is, and what it does not get. Nothing if there is none. */
export function Forwarding(p: {now: Scrape; before: Scrape | undefined}) {
  const destinations = p.now.all(lag).map(s => ({name: s.labels['destination'] ?? '', lag: s.value}));
  if (destinations.length === 0) return null;
  return (
    <section class="panel" aria-label="Sent on">
      <header><h2>Sent on</h2><span class="dim">destinations of <code>remote_write</code></span></header>
      <div class="scroll" tabIndex={0} role="group" aria-label="Destinations"><table>
        <thead><tr><th>Destination</th><th class="number">Behind</th><th class="number">Waiting</th><th class="number">Samples per second</th><th class="number">Sent</th><th class="number">Requests sent again</th><th>Dropped</th></tr></thead>
        <tbody>{destinations.map(d => {
          const of = {destination: d.name};
          const speed = perSecond(p.now, p.before, sent, of);
          return (
            <tr key={d.name}>
              <td class="name"><Text of={d.name} /></td>
              <td class={d.lag >= late ? 'number warn' : 'number'}>{d.lag < 1 ? 'nothing' : formatAge(d.lag)}</td>
              <td class="number">{formatBytes(p.now.sum('tsdbridge_remote_write_spooled_bytes', of) ?? 0)}</td>
              <td class="number">{speed === undefined ? '…' : formatNumber(speed)}</td>
              <td class="number">{formatCount(p.now.sum(sent, of) ?? 0)}</td>
              <td class="number">{formatCount(p.now.sum('tsdbridge_remote_write_retried_requests_total', of) ?? 0)}</td>
              <td><Drops now={p.now} destination={d.name} /></td>
            </tr>
          );
        })}</tbody>
      </table></div>
    </section>
  );
}

function Drops(p: {now: Scrape; destination: string}) {
  const reasons = p.now.all(dropped).filter(s => s.labels['destination'] === p.destination && s.value > 0);
  if (reasons.length === 0) return <span class="dim">none</span>;
  return <>{reasons.map(s => <div key={s.labels['reason']} class={intended.includes(s.labels['reason'] ?? '') ? '' : 'bad'}>{s.labels['reason']}: {formatCount(s.value)}</div>)}</>;
}
