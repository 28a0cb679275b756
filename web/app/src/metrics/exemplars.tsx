import {showLabels} from '../lib/frame.ts';
import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';

interface Found {
  seriesLabels: Record<string, string>;
  exemplars: {labels: Record<string, string>; value: string; timestamp: number}[];
}

const most = 100;

/** Exemplars lists those of the last hour, if there are any. */
export function Exemplars(p: {selector: string}) {
  const now = Math.floor(Date.now() / 1000);
  const request = useRequest(signal => fetchData<Found[]>('api/v1/query_exemplars', {query: p.selector, start: now - 3600, end: now}, {signal}), [p.selector]);
  const all = (request.answer ?? []).flatMap(s => s.exemplars.map(e => ({series: s.seriesLabels, ...e}))).slice(0, most);
  if (all.length === 0) return null;
  return (
    <section class="panel" aria-label="Exemplars">
      <h2>Exemplars of the last hour</h2>
      <div class="scroll" tabIndex={0} role="group" aria-label="List of exemplars"><table>
        <thead><tr><th>Time</th><th>Series</th><th>Exemplar</th><th class="number">Value</th></tr></thead>
        <tbody>{all.map((e, i) => (
          <tr key={i}>
            <td class="time">{formatTime(Math.round(e.timestamp * 1000), false).slice(0, 19)}</td>
            <td class="name"><Text of={showLabels(e.series)} /></td><td class="name"><Text of={showLabels(e.labels)} /></td><td class="number">{e.value}</td>
          </tr>
        ))}</tbody>
      </table></div>
    </section>
  );
}
