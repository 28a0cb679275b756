import {useMemo, useState} from 'preact/hooks';
import type {Series} from '../lib/frame.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';

const page = 200;
const mostColumns = 12;

/** Table shows the newest value of each series, with a column for each label. */
export function Table(p: {series: Series[]; utc: boolean; onPick(index: number): void}) {
  const [most, setMost] = useState(page);
  const every = useMemo(() => [...new Set(p.series.flatMap(s => Object.keys(s.labels)))].sort(), [p.series]);
  const [all, setAll] = useState(false);
  const keys = all ? every : every.slice(0, mostColumns);
  const rows = useMemo(() => p.series.map((s, index) => ({s, index, at: s.lastAt})), [p.series]);
  return (
    <>
    {every.length > mostColumns && (
      <p class="dim">
        {all ? `All ${every.length} labels have a column.` : `${mostColumns} of ${every.length} labels have a column; the names of the series have all of them.`}{' '}
        <button onClick={() => setAll(!all)}>{all ? `Show ${mostColumns} columns` : `Show all ${every.length} columns`}</button>
      </p>
    )}
    <div class="scroll" tabIndex={0}>
      <table>
        <thead><tr><th>Series</th>{keys.map(k => <th key={k}>{k === '__name__' ? 'metric' : k}</th>)}<th>Time</th><th class="number">Value</th></tr></thead>
        <tbody>
          {rows.slice(0, most).map(({s, index, at}) => (
            <tr key={index}>
              <td class="name"><button class="plain" onClick={() => p.onPick(index)}><Text of={s.name} /></button></td>
              {keys.map(k => <td class="name" key={k}><Text of={s.labels[k] ?? ''} /></td>)}
              <td class="time">{at < 0 ? '–' : formatTime(s.times[at]!, p.utc)}</td>
              <td class="number">{at < 0 ? '–' : <Value of={s.values[at]!} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > most && <button onClick={() => setMost(most + 1000)}>Show more of {rows.length}</button>}
    </div>
    </>
  );
}

/** Value is written with the digits that are no noise; the tip has all of them. */
function Value(p: {of: number}) {
  return <span title={String(p.of)}>{Number.isFinite(p.of) ? Number(p.of.toPrecision(12)) : String(p.of)}</span>;
}
