import {fetchIfThere} from '../lib/http.ts';
import {formatBytes, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';

interface Verified {
  at: string;
  error?: string;
}

interface Answer {
  recorded: boolean;
  backups: {at: string; path: string; kind: string; bytes: number; seconds: number; there: boolean; verified?: Verified}[] | null;
}

/** Backups lists those that were made of this store, the newest first. */
export function Backups(p: {turn: number}) {
  const request = useRequest(signal => fetchIfThere<Answer>('api/v1/status/backups', {}, {signal}), [], p.turn);
  const all = request.answer?.backups ?? [];
  if (!request.answer && request.error === '') return null;
  return (
    <section class="panel" aria-label="Backups">
      <h2>Backups</h2>
      <Failed error={request.error} />
      {request.answer?.recorded === false && <p class="dim">This engine keeps no record of backups.</p>}
      {request.answer?.recorded && all.length === 0 && <p class="dim">None was made yet.</p>}
      {all.length > 0 && !all.some(b => b.verified) && <p class="dim">None was verified. <code>tsdbridge backup verify DIR</code> reads one and compares it with its sums.</p>}
      {all.length > 0 && (
        <div class="scroll short" tabIndex={0} role="group" aria-label="List of backups"><table>
          <thead><tr><th>Made</th><th>Where</th><th class="number">Size</th><th class="number">Took</th><th>State</th><th>Verified</th></tr></thead>
          <tbody>{all.map((b, i) => (
            <tr key={i}>
              <td class="time">{formatTime(Date.parse(b.at), false).slice(0, 19)}</td><td class="name"><code><Text of={b.path} /></code></td>
              <td class="number">{formatBytes(b.bytes)}</td><td class="number">{formatSeconds(b.seconds)}</td>
              <td>{b.there ? 'there' : <span class="warn">not there any more</span>}</td>
              <td><Verification of={b.verified} /></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}

/** Verification tells what the command that verifies a backup found the last time. */
function Verification(p: {of: Verified | undefined}) {
  if (!p.of) return <span class="dim">never</span>;
  const at = formatTime(Date.parse(p.of.at), false).slice(0, 19);
  return p.of.error ? <span class="bad">damaged, {at}: <Text of={p.of.error} /></span> : <span class="good">whole, {at}</span>;
}
