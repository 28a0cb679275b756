import {useState} from 'preact/hooks';
import {fetchData, fetchText, messageOf} from '../lib/http.ts';
import {formatBytes, formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {whyReadOnly} from '../lib/server.ts';
import {formatTime} from '../lib/time.ts';

interface Running {
  id: string;
  language: string;
  query: string;
  client: string;
  seconds: number;
  memoryBytes: number;
  samples: number;
}

interface Slow extends Running {
  started: string;
  failed?: string;
}

/** SlowQueries lists the queries of late that took long. */
export function SlowQueries(p: {turn: number}) {
  const request = useRequest(signal => fetchData<Slow[]>('api/v1/status/slow_queries', {}, {signal}), [p.turn]);
  const all = request.answer ?? [];
  return (
    <section class="panel" aria-label="Slow queries">
      <h2>Slow queries</h2>
      {request.error !== '' && <p class="error" role="alert">{request.error}</p>}
      {all.length === 0 ? <p class="dim">None took longer than --query.slow-after since the start.</p> : (
        <div class="scroll short" tabIndex={0}><table>
          <thead><tr><th>Ended</th><th>Language</th><th>Query</th><th>Client</th><th class="number">Time</th><th class="number">Memory</th><th class="number">Samples</th><th>Failure</th></tr></thead>
          <tbody>{all.map(q => (
            <tr key={q.id}>
              <td class="time">{formatTime(Date.parse(q.started) + q.seconds * 1000, false).slice(0, 19)}</td>
              <td>{q.language}</td><td class="name"><code>{q.query}</code></td><td>{q.client}</td>
              <td class="number">{formatSeconds(q.seconds)}</td><td class="number">{formatBytes(q.memoryBytes)}</td><td class="number">{formatCount(q.samples)}</td>
              <td>{q.failed ?? ''}</td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}

/** Queries lists what is being answered, and ends it on request. */
export function Queries(p: {turn: number; admin: boolean}) {
  const [again, setAgain] = useState(0);
  const [failed, setFailed] = useState('');
  const request = useRequest(signal => fetchData<Running[]>('api/v1/status/queries', {}, {signal}), [p.turn, again]);
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
      <h2>Running queries</h2>
      {(failed || request.error) !== '' && <p class="error" role="alert">{failed || request.error}</p>}
      {all.length === 0 ? <p class="dim">None.</p> : (
        <div class="scroll" tabIndex={0}><table>
          <thead><tr><th>Language</th><th>Query</th><th>Client</th><th class="number">Time</th><th class="number">Memory</th><th class="number">Samples</th><th /></tr></thead>
          <tbody>{all.map(q => (
            <tr key={q.id}>
              <td>{q.language}</td><td class="name"><code>{q.query}</code></td><td>{q.client}</td>
              <td class="number">{formatSeconds(q.seconds)}</td><td class="number">{formatBytes(q.memoryBytes)}</td><td class="number">{formatCount(q.samples)}</td>
              <td><button disabled={!p.admin} title={p.admin ? '' : whyReadOnly} onClick={() => { void kill(q.id); }}>Kill</button></td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
      {!p.admin && all.length > 0 && <p class="dim">{whyReadOnly}</p>}
    </section>
  );
}
