import {useState} from 'preact/hooks';
import {fetchIfThere} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {Failed} from '../lib/waiting.tsx';
import type {Count} from '../start/store.ts';
import {Counts} from './counts.tsx';

export interface SeriesCount {
  name: string;
  series: number;
}

export function counts(all: SeriesCount[] | null): Count[] {
  return (all ?? []).map(c => ({name: c.name, value: c.series}));
}

interface Answer {
  known: boolean;
  since?: string;
  reason?: string;
  unknown: number;
  days: {day: string; series: number}[] | null;
  from: string;
  to: string;
  registered: number;
  byMetric: SeriesCount[] | null;
  byLabel: SeriesCount[] | null;
  byValue: SeriesCount[] | null;
}

const days = 30;

/** Growth tells how many series came on each day, and which came on one of them. */
export function Growth(p: {onPick(metric: string): void}) {
  const [day, setDay] = useState<string>();
  const request = useRequest(signal => fetchIfThere<Answer>('api/v1/status/growth', {days, limit: 15, from: day, to: day}, {signal}), [day]);
  const g = request.answer;
  if (request.error !== '') return <Failed error={request.error} />;
  if (!g) return null;
  if (!g.known) return <section class="panel" aria-label="Growth"><h2>Growth</h2><p class="dim">When series were registered is not known in this store. {g.reason}</p></section>;
  const shown = g.from === g.to ? g.from : `${g.from} to ${g.to}`;
  return (
    <>
      <section class="panel" aria-label="Growth">
        <header><h2>New series in a day</h2><span class="dim end">the last {days} days, in UTC{g.unknown > 0 && !g.since && `; of ${formatCount(g.unknown)} older series the day is not known`}</span></header>
        {g.since && <p class="dim">Since {g.since.replace('T', ' ').replace('Z', ' UTC')}; of {formatCount(g.unknown)} series that were there before, the day is not known. {g.reason}</p>}
        <Days all={g.days ?? []} picked={g.from} onPick={setDay} />
      </section>
      <div class="columns">
        <Counts title="New by metric" note={shown} all={counts(g.byMetric)} onPick={p.onPick} />
        <Counts title="New by label and value" note={shown} all={counts(g.byValue)} />
        <Counts title="New by label" note={shown} all={counts(g.byLabel)} />
      </div>
    </>
  );
}

/** Days draws a bar for each day; a click shows what came on it. */
function Days(p: {all: {day: string; series: number}[]; picked: string; onPick(day: string): void}) {
  const most = Math.max(1, ...p.all.map(d => d.series));
  return (
    <div class="days" role="group" aria-label="Days">
      {p.all.map(d => (
        <button key={d.day} class="day" aria-pressed={d.day === p.picked} title={`${d.day}: ${formatCount(d.series)} new series`}
          aria-label={`${d.day}: ${formatCount(d.series)} new series`} onClick={() => p.onPick(d.day)}>
          <i style={{height: `${d.series === 0 ? 0 : Math.max((d.series / most) * 100, 2)}%`}} />
        </button>
      ))}
    </div>
  );
}
