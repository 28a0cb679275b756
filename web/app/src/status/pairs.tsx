import {fetchIfThere} from '../lib/http.ts';
import {formatAge, formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';

interface Pair {
  cluster: string;
  elected: string;
  since: string;
  lastHeard: string;
  dropped: number;
}

/** Pairs tells which replica of each HA pair is stored, and since when. Nothing if there are none. */
export function Pairs(p: {turn: number}) {
  const request = useRequest(signal => fetchIfThere<Pair[] | null>('api/v1/status/ha', {}, {signal}), [], p.turn);
  const all = Array.isArray(request.answer) ? request.answer : [];
  if (all.length === 0 && request.error === '') return null;
  return (
    <section class="panel" aria-label="HA pairs">
      <header><h2>HA pairs</h2><span class="dim">one replica of each is stored; <a href="docs/ha.html">Handbook</a></span></header>
      <Failed error={request.error} />
      <div class="scroll short" tabIndex={0} role="group" aria-label="List of pairs"><table>
        <thead><tr><th>Cluster</th><th>Elected replica</th><th>Since</th><th class="number">Heard</th><th class="number">Left out of others</th></tr></thead>
        <tbody>{all.map(c => (
          <tr key={c.cluster}>
            <td class="name"><Text of={c.cluster} /></td><td class="name"><b><Text of={c.elected} /></b></td>
            <td class="time">{formatTime(Date.parse(c.since), false).slice(0, 19)}</td>
            <td class="number">{formatAge(Math.max(0, (Date.now() - Date.parse(c.lastHeard)) / 1000))} ago</td>
            <td class="number">{formatCount(c.dropped)}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </section>
  );
}
