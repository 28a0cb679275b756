import {formatCount, formatNumber} from '../lib/format.ts';
import {countOf, doors} from './doorlist.ts';
import type {Scrape} from './exposition.ts';
import {Refused} from './refused.tsx';
import {perSecond} from './scrapes.ts';

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
          const count = countOf(d, p.now);
          return (
            <tr key={d.title}>
              <td>{d.title}</td>
              <td class="number">{now === undefined ? '…' : formatNumber(now)}</td>
              <td class="number">{formatCount(count.received)}</td>
              <td class="number">{formatCount(count.written)}</td>
              {[count.rejected, count.failed].map((n, i) => n === undefined
                ? <td class="number" key={i}>–</td>
                : <td class={n > 0 ? 'number bad' : 'number'} key={i}>{formatCount(n)}</td>)}
            </tr>
          );
        })}</tbody>
      </table></div>
      {reasons.length > 0 && <p class="note">Carbon lines that were refused: {reasons.map(s => `${s.labels['reason']} ${formatCount(s.value)}`).join(', ')}.</p>}
      <Refused turn={p.turn} />
    </section>
  );
}
