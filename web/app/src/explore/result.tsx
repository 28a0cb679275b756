import {useMemo} from 'preact/hooks';
import type {Series} from '../lib/frame.ts';
import type {Instants} from '../lib/time.ts';
import {Chart} from './chart.tsx';
import {Explain} from './explain.tsx';
import {Legend} from './legend.tsx';
import {Raw} from './raw.tsx';
import type {Panel} from './state.ts';
import {Table} from './table.tsx';

interface Props {
  state: Panel;
  series: Series[];
  raw: Blob;
  range: Instants;
  utc: boolean;
  turn: number;
  shown: boolean[];
  onShown(shown: boolean[]): void;
  onRange(range: Instants): void;
  onPick(index: number): void;
}

/** Result is an answer in the view that was chosen. */
export function Result(p: Props) {
  const {state, series} = p;
  const label = useMemo(() => `Graph of ${series.length} series. The table shows the values.`, [series]);
  switch (state.view) {
    case 'table': return <Table series={series} utc={p.utc} onPick={p.onPick} />;
    case 'raw': return <Raw answer={p.raw} />;
    case 'explain': return <Explain language={state.language} text={state.text.trim()} range={p.range} turn={p.turn} />;
    default:
  }
  if (series.length === 0) return <p class="dim">No series has points in this range.</p>;
  return (
    <>
      <Chart series={series} shown={p.shown} range={p.range} utc={p.utc} stack={state.stack} log={state.log} nulls={state.nulls} label={label}
        onRange={p.onRange} onPick={p.onPick} />
      <Legend series={series} shown={p.shown} onShown={p.onShown} onPick={p.onPick} />
    </>
  );
}
