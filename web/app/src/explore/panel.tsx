import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import {Editor} from '../language/editor.tsx';
import {languageOf, languages, type LanguageID} from '../language/language.ts';
import {formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest, useSeconds} from '../lib/request.ts';
import {parseDuration, type Instants} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';
import {Examples} from './examples.tsx';
import {Names} from './names.tsx';
import {Phrases} from './phrases.tsx';
import {Result} from './result.tsx';
import type {Nulls, Panel as State, View} from './state.ts';

interface Props {
  number: number;
  state: State;
  /** range is undefined while what was chosen is no range: nothing is asked then. */
  range: Instants | undefined;
  utc: boolean;
  /** choice is the range as it was chosen: it stays while "now" goes on. */
  choice: string;
  /** run grows when a person wants new answers, turn when the clock does. */
  run: number;
  turn: number;
  onState(state: State): void;
  onRange(range: Instants): void;
  onRun(): void;
  onAdd(state: State): void;
  onRemove?: (() => void) | undefined;
}

const views: [View, string][] = [['graph', 'Graph'], ['table', 'Table'], ['raw', 'JSON'], ['explain', 'Explain']];

/** explained are the languages whose queries the server explains. */
const explained: LanguageID[] = ['promql', 'graphite', 'opentsdb'];

/** Panel is one query and its answer. */
export function Panel(p: Props) {
  const {state} = p;
  const language = languageOf(state.language);
  const set = (change: Partial<State>) => p.onState({...state, ...change});
  const [picked, setPicked] = useState('');
  const [stopped, setStopped] = useState('');
  const body = useRef<HTMLElement>(null);

  const step = state.step === '' ? undefined : parseDuration(state.step) / 1000;
  const badStep = step !== undefined && !(step > 0);
  const asked = state.text.trim();
  const question = JSON.stringify([asked, state.language, p.choice, state.step, p.run]);
  const {range} = p;
  const off = asked === '' || badStep || stopped === question;
  const request = useRequest(
    off || !range ? undefined : signal => language.ask(asked, range, {points: pointsFor(body.current), ...(step ? {step} : {})}, signal),
    [off, range === undefined, question], p.turn,
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
        {p.onRemove && <button class="quiet" onClick={p.onRemove} aria-label={`Remove panel ${p.number}`} title="Remove this panel">✕</button>}
      </div>
      <div class="toolbar">
        <span role="group" aria-label="View" class="buttons">
          {views.filter(([v]) => v !== 'explain' || explained.includes(state.language)).map(([v, title]) => (
            <button key={v} aria-pressed={state.view === v} onClick={() => set({view: v})}>{title}</button>
          ))}
        </span>
        {state.view === 'graph' && <GraphOptions state={state} set={set} />}
        {state.language !== 'opentsdb' && (
          <label class="field">Step <input type="text" size={6} value={state.step} placeholder="auto" aria-invalid={badStep}
            onChange={e => set({step: e.currentTarget.value.trim()})} /></label>
        )}
        <Phrases language={state.language} text={asked} onUse={(id, text) => p.onAdd({...state, language: id, text})} />
        <span class="dim status" role="status">
          {request.running ? <Running onStop={() => setStopped(question)} />
            : request.answer && request.error === '' ? `${formatCount(series.length)} series in ${formatSeconds(request.seconds)}` : ''}
        </span>
      </div>
      {badStep && <p class="error" role="alert">The step "{state.step}" is no duration such as 30s or 5m.</p>}
      {stopped === question && <p class="note" role="status">Stopped. Run asks again.</p>}
      <Failed error={request.error} />
      {request.answer?.notes.map((n, i) => <p class="note" key={i}>{n}</p>)}
      {asked === '' && <Examples language={language} onUse={text => set({text})} />}
      {asked !== '' && request.error === '' && request.answer && range && (
        <Result state={state} series={series} raw={request.answer.raw} range={range} utc={p.utc} turn={p.run + p.turn} shown={shown}
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

/** Running tells how long an answer takes once that is long, and offers to give it up. */
function Running(p: {onStop(): void}) {
  const seconds = useSeconds();
  return <>Asking… {seconds > 1 && <>{seconds} s <button class="small" onClick={p.onStop}>Stop</button></>}</>;
}

function GraphOptions(p: {state: State; set(change: Partial<State>): void}) {
  return (
    <>
      <label><input type="checkbox" checked={p.state.stack} onChange={e => p.set({stack: e.currentTarget.checked})} /> Stacked</label>
      <label><input type="checkbox" checked={p.state.log} onChange={e => p.set({log: e.currentTarget.checked})} /> Log</label>
      <label class="field">Nulls <select value={p.state.nulls} onChange={e => p.set({nulls: e.currentTarget.value as Nulls})}>
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
