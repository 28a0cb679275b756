import {fetchIfThere} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';

interface Answer {
  sources: {source: string; refused: number; last: string}[] | null;
  samples: {time: string; source: string; client: string; reason: string; text: string; points: number}[] | null;
}

/** Refused shows samples of what was refused, by all protocols, the newest first. */
export function Refused(p: {turn: number}) {
  const request = useRequest(signal => fetchIfThere<Answer>('api/v1/status/refused', {limit: 50}, {signal}), [], p.turn);
  const samples = request.answer?.samples ?? [];
  return (
    <>
      <Failed error={request.error} />
      {request.answer && samples.length === 0 && <p class="dim">Nothing was refused since the start.</p>}
      {samples.length > 0 && (
        <>
          <h3>Refused, the newest first</h3>
          <div class="scroll short" tabIndex={0} role="group" aria-label="Refused samples"><table>
            <thead><tr><th>Time</th><th>Protocol</th><th>Client</th><th>Reason</th><th>What was sent</th><th class="number">Points</th></tr></thead>
            <tbody>{samples.map((s, i) => (
              <tr key={i}>
                <td class="time">{formatTime(Date.parse(s.time), false).slice(0, 19)}</td><td>{s.source}</td><td>{s.client}</td>
                <td class="name"><Text of={s.reason} /></td><td class="name"><code><Text of={s.text} /></code></td><td class="number">{formatCount(s.points)}</td>
              </tr>
            ))}</tbody>
          </table></div>
        </>
      )}
    </>
  );
}
