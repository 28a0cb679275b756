import {useState} from 'preact/hooks';
import {explore} from '../explore/open.ts';
import {showLabels} from '../lib/frame.ts';
import {fetchIfThere} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {Failed} from '../lib/waiting.tsx';
import {Counts} from './counts.tsx';
import {counts, type SeriesCount} from './growth.tsx';

interface Answer {
  known: boolean;
  reason?: string;
  since: string;
  series: number;
  silent: number;
  never: number;
  byMetric: SeriesCount[] | null;
  byValue: SeriesCount[] | null;
  examples: {labels: Record<string, string>; last: string}[] | null;
}

/** Silent tells which series got no points of late. */
export function Silent(p: {onPick(metric: string): void}) {
  const [days, setDays] = useState(7);
  const request = useRequest(signal => fetchIfThere<Answer>('api/v1/status/silent', {days, limit: 15}, {signal}), [days]);
  const s = request.answer;
  if (request.error !== '') return <Failed error={request.error} />;
  if (!s) return null;
  return (
    <>
      <section class="panel" aria-label="Series without points">
        <header>
          <h2>Series without points</h2>
          <label class="field end">in the last <select value={days} onChange={e => setDays(Number(e.currentTarget.value))}>
            {[1, 7, 30, 90].map(d => <option key={d} value={d}>{d === 1 ? 'day' : `${d} days`}</option>)}
          </select></label>
        </header>
        {!s.known ? <p class="dim">Not known here. {s.reason}</p> : (
          <p>{formatCount(s.silent)} of {formatCount(s.series)} series have no points since {s.since}{s.never > 0 && `, ${formatCount(s.never)} of them never had any`}.</p>
        )}
        {(s.examples?.length ?? 0) > 0 && (
          <details><summary>Examples</summary>
            <table>
              <thead><tr><th>Series</th><th>Last point</th></tr></thead>
              <tbody>{s.examples!.map((e, i) => (
                <tr key={i}>
                  <td class="name wide"><button class="plain" onClick={() => explore('promql', showLabels(e.labels))}><Text of={showLabels(e.labels)} /></button></td>
                  <td class="time">{e.last === '' ? 'never' : e.last}</td>
                </tr>
              ))}</tbody>
            </table>
          </details>
        )}
      </section>
      {s.silent > 0 && (
        <div class="columns">
          <Counts title="Without points, by metric" all={counts(s.byMetric)} onPick={p.onPick} />
          <Counts title="Without points, by label and value" all={counts(s.byValue)} />
        </div>
      )}
    </>
  );
}
