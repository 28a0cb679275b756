import {useState} from 'preact/hooks';
import {fetchData, fetchText, messageOf} from '../lib/http.ts';
import {formatBytes, formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {whyReadOnly} from '../lib/server.ts';
import {Text} from '../lib/text.tsx';
import {Failed} from '../lib/waiting.tsx';

export interface Running {
  id: string;
  language: string;
  query: string;
  client: string;
  seconds: number;
  memoryBytes: number;
  samples: number;
  rows?: number;
  bytes?: number;
}

/** Queries lists what is being answered, and ends it on request. */
export function Queries(p: {turn: number; admin: boolean}) {
  const [again, setAgain] = useState(0);
  const [failed, setFailed] = useState('');
  const request = useRequest(signal => fetchData<Running[]>('api/v1/status/queries', {}, {signal}), [again], p.turn);
  const kill = async (id: string) => {
    try {
      await fetchText(`api/v1/status/queries/${encodeURIComponent(id)}`, {}, {method: 'DELETE'});
      setFailed('');
    } catch (e) {
      setFailed(messageOf(e));
    }
    setAgain(n => n + 1);
  };
  const all = request.answer ?? [];
  return (
    <section class="panel" aria-label="Running queries">
      <header><h2>Running queries</h2>{!p.admin && <span class="dim">{whyReadOnly}</span>}</header>
      <Failed error={failed || request.error} />
      {all.length === 0 ? <p class="dim">None.</p> : (
        <div class="scroll short" tabIndex={0} role="group" aria-label="List of running queries"><table>
          <thead><tr><th>Language</th><th>Query</th><th>Client</th><th class="number">Time</th><th class="number">Memory</th><th class="number">Samples</th><th class="number">Read</th><th><span class="unseen">End</span></th></tr></thead>
          <tbody>{all.map(q => (
            <tr key={q.id}>
              <td>{q.language}</td><td class="name"><code><Text of={q.query} /></code></td><td>{q.client}</td>
              <td class="number">{formatSeconds(q.seconds)}</td><td class="number">{formatBytes(q.memoryBytes)}</td><td class="number">{formatCount(q.samples)}</td>
              <td class="number">{q.bytes === undefined ? '' : formatBytes(q.bytes)}</td>
              <td><button class="small" disabled={!p.admin} title={p.admin ? '' : whyReadOnly} onClick={() => { void kill(q.id); }}>Kill</button></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}
