import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';

interface Line {
  time: string;
  level: string;
  message: string;
  fields: {key: string; value: string}[];
}

/** LastLog shows the last warnings and errors of the log. */
export function LastLog(p: {turn: number}) {
  const request = useRequest(signal => fetchData<Line[]>('api/v1/status/log', {}, {signal}), [], p.turn);
  const all = request.answer ?? [];
  return (
    <section class="panel" aria-label="Warnings and errors">
      <h2>Warnings and errors</h2>
      {request.error !== '' && <p class="error" role="alert">{request.error}</p>}
      {all.length === 0 ? <p class="dim">None since the start.</p> : (
        <div class="scroll short" tabIndex={0} role="group" aria-label="Lines of the log"><table>
          <thead><tr><th>Time</th><th>Level</th><th>Message</th></tr></thead>
          <tbody>{all.map((l, i) => (
            <tr key={i}>
              <td class="time">{formatTime(Date.parse(l.time), false).slice(0, 19)}</td>
              <td class={l.level === 'ERROR' ? 'bad' : 'warn'}>{l.level}</td>
              <td class="name wide">{l.message} {l.fields.map(f => <span class="dim" key={f.key}>{f.key}=<code><Text of={f.value} /></code> </span>)}</td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}
