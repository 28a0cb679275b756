import {Operator, Ways, type Node, type Way} from '../explore/plan.tsx';
import {fetchData} from '../lib/http.ts';
import {formatBytes, formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {formatTime} from '../lib/time.ts';
import {Text} from '../lib/text.tsx';
import {Failed} from '../lib/waiting.tsx';
import type {Running} from './queries.tsx';

interface Slow extends Running {
  started: string;
  failed?: string;
  ways?: Way[];
  plan?: Node;
}

/** SlowQueries lists the queries of late that took long, each with how it was answered. */
export function SlowQueries(p: {turn: number}) {
  const request = useRequest(signal => fetchData<Slow[]>('api/v1/status/slow_queries', {}, {signal}), [], p.turn);
  const all = request.answer ?? [];
  return (
    <section class="panel" aria-label="Slow queries">
      <h2>Slow queries</h2>
      <Failed error={request.error} />
      {all.length === 0 ? <p class="dim">None took longer than <code>--query.slow-after</code> since the start.</p> : (
        <div class="scroll short" tabIndex={0} role="group" aria-label="List of slow queries"><table>
          <thead><tr><th>Ended</th><th>Language</th><th>Query</th><th>Client</th><th class="number">Time</th><th class="number">Memory</th><th class="number">Samples</th><th class="number">Read</th></tr></thead>
          <tbody>{all.map(q => (
            <tr key={q.id}>
              <td class="time">{formatTime(Date.parse(q.started) + q.seconds * 1000, false).slice(0, 19)}</td>
              <td>{q.language}</td><td class="name wide"><Query query={q} /></td><td>{q.client}</td>
              <td class="number">{formatSeconds(q.seconds)}</td><td class="number">{formatBytes(q.memoryBytes)}</td><td class="number">{formatCount(q.samples)}</td>
              <td class="number">{q.bytes === undefined ? '' : formatBytes(q.bytes)}</td>
            </tr>
          ))}</tbody>
        </table></div>
      )}
    </section>
  );
}

/** Query is the text of a query; its plan is shown on demand. */
function Query(p: {query: Slow}) {
  const q = p.query;
  const text = <code><Text of={q.query} /></code>;
  return (
    <>
      {q.plan || q.ways?.length ? (
        <details>
          <summary>{text}</summary>
          <div class="explain">
            <Ways all={q.ways ?? []} />
            {q.plan && <ul class="tree"><Operator node={q.plan} reads={[]} /></ul>}
          </div>
        </details>
      ) : text}
      {q.failed && <div class="bad">{q.failed}</div>}
    </>
  );
}
