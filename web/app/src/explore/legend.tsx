import {useMemo, useState} from 'preact/hooks';
import type {Series, Summary} from '../lib/frame.ts';
import {formatNumber} from '../lib/format.ts';
import {Text} from '../lib/text.tsx';
import {colourOf} from './colours.ts';

interface Props {
  series: Series[];
  shown: boolean[];
  onShown(shown: boolean[]): void;
  onPick(index: number): void;
}

type Column = 'name' | keyof Summary;

const columns: [Column, string][] = [['name', 'Series'], ['last', 'Last'], ['min', 'Min'], ['max', 'Max'], ['mean', 'Mean'], ['points', 'Points']];
const page = 50;

/** Legend lists the series with what their values amount to. A click on the colour hides a line, one on the name shows its names. */
export function Legend(p: Props) {
  const [order, setOrder] = useState<{by: Column; down: boolean}>();
  const [most, setMost] = useState(page);
  const rows = useMemo(() => p.series.map((s, index) => ({index, name: s.name, ...s.summary})), [p.series]);
  const sorted = useMemo(() => order ? rows.toSorted((a, b) => compare(a[order.by], b[order.by]) * (order.down ? -1 : 1)) : rows, [rows, order]);

  const toggle = (index: number, alone: boolean) => {
    if (!alone) return p.onShown(p.shown.map((s, i) => i === index ? !s : s));
    const already = p.shown.every((s, i) => s === (i === index));
    p.onShown(p.shown.map((_, i) => already || i === index));
  };
  return (
    <div class="legend">
      <table>
        <thead><tr>
          <th><span class="unseen">Line</span></th>
          {columns.map(([by, title]) => (
            <th key={by} class={by === 'name' ? '' : 'number'} aria-sort={order?.by === by ? (order.down ? 'descending' : 'ascending') : 'none'}>
              <button class="plain" onClick={() => setOrder({by, down: order?.by === by ? !order.down : by !== 'name'})}>
                {title}{order?.by === by ? (order.down ? ' ▾' : ' ▴') : ''}
              </button>
            </th>
          ))}
        </tr></thead>
        <tbody>
          {sorted.slice(0, most).map(r => (
            <tr key={r.index} class={p.shown[r.index] ? '' : 'hidden-line'}>
              <td><button class="swatch-button" aria-pressed={p.shown[r.index]} aria-label={`Draw ${r.name.slice(0, 300)}`} title="Hide or show; with Ctrl: this one alone"
                onClick={e => toggle(r.index, e.ctrlKey || e.metaKey)}><i class="swatch" style={{background: colourOf(r.index)}} /></button></td>
              <td class="name wide"><button class="plain" onClick={() => p.onPick(r.index)}><Text of={r.name} /></button></td>
              {[r.last, r.min, r.max, r.mean].map((v, i) => <td class="number" key={i}>{v === null ? '–' : formatNumber(v)}</td>)}
              <td class="number">{r.points}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {sorted.length > most && <button class="small more" onClick={() => setMost(most + 500)}>Show {Math.min(500, sorted.length - most)} more of {sorted.length}</button>}
    </div>
  );
}

function compare(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return (a === null ? 1 : 0) - (b === null ? 1 : 0);
  return a < b ? -1 : a > b ? 1 : 0;
}
