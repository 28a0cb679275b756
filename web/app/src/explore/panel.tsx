import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {Editor} from '../language/editor.tsx';
import {languageOf, languages, type LanguageID} from '../language/language.ts';
import {formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {parseDuration, type Instants} from '../lib/time.ts';
import {Chart} from './chart.tsx';
import {Explain} from './explain.tsx';
import {Legend} from './legend.tsx';
import {Names} from './names.tsx';
import {Phrases} from './phrases.tsx';
import {Raw} from './raw.tsx';
import type {Nulls, Panel as State, View} from './state.ts';
import {Table} from './table.tsx';

interface Props {
  number: number;
  state: State;
  range: Instants;
  utc: boolean;
  /** turn grows when all panels are to ask again. */
  turn: number;
  onState(state: State): void;
  onRange(range: Instants): void;
  onRun(): void;
  onAdd(state: State): void;
  onRemove?: (() => void) | undefined;
}

const views: [View, string][] = [['graph', 'Graph'], ['table', 'Table'], ['raw', 'JSON'], ['explain', 'Explain']];

/** Panel is one query and its answer. */
export function Panel(p: Props) {
  const {state} = p;
  const language = languageOf(state.language);
  const set = (change: Partial<State>) => p.onState({...state, ...change});
  const [picked, setPicked] = useState('');
  const body = useRef<HTMLElement>(null);

  const step = state.step === '' ? undefined : parseDuration(state.step) / 1000;
  const badStep = step !== undefined && !(step > 0);
  const asked = state.text.trim();
  const request = useRequest(
    asked === '' || badStep ? undefined
      : signal => language.ask(asked, p.range, {points: pointsFor(body.current), ...(step ? {step} : {})}, signal),
    [asked, state.language, p.range.start, p.range.end, state.step, p.turn],
  );
  const series = request.answer?.series ?? [];
  const [shown, setShown] = useShown(series.length);
  const pick = (index: number) => setPicked(series[index]?.subject ?? '');

  return (
    <section class={request.running ? 'panel running' : 'panel'} ref={body} aria-label={`Panel ${p.number}`} aria-busy={request.running}>
      <div class="query">
        <select aria-label="Language" value={state.language} onChange={e => set({language: e.currentTarget.value as LanguageID, text: ''})}>
          {languages.map(l => <option key={l.id} value={l.id}>{l.title}</option>)}
        </select>
        <Editor key={state.language} language={language} value={state.text} label={`${language.title} query of panel ${p.number}`} error={request.error}
          onRun={text => (text === state.text ? p.onRun() : set({text}))} onLeave={text => { if (text !== state.text) set({text}); }} />
        {p.onRemove && <button onClick={p.onRemove} aria-label={`Remove panel ${p.number}`}>✕</button>}
      </div>
      <div class="toolbar">
        <span role="group" aria-label="View" class="buttons">
          {views.filter(([v]) => v !== 'explain' || state.language === 'promql').map(([v, title]) => (
            <button key={v} aria-pressed={state.view === v} onClick={() => set({view: v})}>{title}</button>
          ))}
        </span>
        {state.view === 'graph' && <GraphOptions state={state} set={set} />}
        {state.language !== 'opentsdb' && (
          <label>Step <input type="text" size={6} value={state.step} placeholder="auto" aria-invalid={badStep}
            onChange={e => set({step: e.currentTarget.value.trim()})} /></label>
        )}
        <Phrases language={state.language} text={asked} onUse={(id, text) => p.onAdd({...state, language: id, text})} />
        <span class="dim status" role="status">
          {request.running ? 'Asking…' : request.answer && request.error === '' ? `${formatCount(series.length)} series in ${formatSeconds(request.seconds)}` : ''}
        </span>
      </div>
      {badStep && <p class="error" role="alert">The step "{state.step}" is no duration such as 30s or 5m.</p>}
      {request.error !== '' && <p class="error" role="alert">{request.error}</p>}
      {request.answer?.notes.map((n, i) => <p class="note" key={i}>{n}</p>)}
      {asked === '' && <p class="dim empty">Write a query, for example <code>{language.hint}</code>, and press Enter. Ctrl+Space completes.</p>}
      {asked !== '' && request.error === '' && request.answer && (
        <Result state={state} series={series} raw={request.answer.raw} range={p.range} utc={p.utc} turn={p.turn} shown={shown}
          onShown={setShown} onRange={p.onRange} onPick={pick} />
      )}
      {picked !== '' && (
        <Names subject={picked} onClose={() => setPicked('')} onUse={(id, text) => {
          setPicked('');
          p.onAdd({...state, language: id, text, view: 'graph'});
        }} />
      )}
    </section>
  );
}

interface ResultProps {
  state: State;
  series: Parameters<typeof Legend>[0]['series'];
  raw: string;
  range: Instants;
  utc: boolean;
  turn: number;
  shown: boolean[];
  onShown(shown: boolean[]): void;
  onRange(range: Instants): void;
  onPick(index: number): void;
}

function Result(p: ResultProps) {
  const {state, series} = p;
  const label = useMemo(() => `Graph of ${series.length} series`, [series]);
  switch (state.view) {
    case 'table': return <Table series={series} utc={p.utc} onPick={p.onPick} />;
    case 'raw': return <Raw text={p.raw} />;
    case 'explain': return <Explain text={state.text.trim()} range={p.range} turn={p.turn} />;
    default:
  }
  if (series.length === 0) return <p class="dim empty">No series has points in this range.</p>;
  return (
    <>
      <Chart series={series} shown={p.shown} range={p.range} utc={p.utc} stack={state.stack} log={state.log} nulls={state.nulls} label={label}
        onRange={p.onRange} onPick={p.onPick} />
      <Legend series={series} shown={p.shown} onShown={p.onShown} onPick={p.onPick} />
    </>
  );
}

function GraphOptions(p: {state: State; set(change: Partial<State>): void}) {
  return (
    <>
      <label><input type="checkbox" checked={p.state.stack} onChange={e => p.set({stack: e.currentTarget.checked})} /> Stacked</label>
      <label><input type="checkbox" checked={p.state.log} onChange={e => p.set({log: e.currentTarget.checked})} /> Log</label>
      <label>Nulls <select value={p.state.nulls} onChange={e => p.set({nulls: e.currentTarget.value as Nulls})}>
        <option value="gap">gap</option><option value="connect">connect</option><option value="zero">zero</option>
      </select></label>
    </>
  );
}

/** useShown keeps which lines are drawn while the number of series stays the same. */
function useShown(count: number): [boolean[], (shown: boolean[]) => void] {
  const all = useMemo(() => new Array<boolean>(count).fill(true), [count]);
  const [shown, set] = useState(all);
  useEffect(() => set(all), [all]);
  return [shown.length === count ? shown : all, set];
}

/** pointsFor is how many points fit the width of a panel. */
function pointsFor(box: HTMLElement | null): number {
  return Math.min(Math.max(Math.floor((box?.clientWidth ?? 1000) / 2), 100), 2000);
}
