import {useMemo, useState} from 'preact/hooks';
import {Guard} from '../lib/guard.tsx';
import {useEvery} from '../lib/request.ts';
import {go} from '../lib/route.ts';
import {resolve, rounded, type Instants} from '../lib/time.ts';
import {Panel} from './panel.tsx';
import {formatState, mostPanels, newPanel, parseState, type Panel as PanelState, type State} from './state.ts';
import {absolute, TimePicker} from './timepicker.tsx';

/** Explore asks in three languages and draws the answers. All that it shows is in the URL. */
export function Explore(p: {params: URLSearchParams}) {
  const state = useMemo(() => parseState(p.params), [p.params]);
  const [runs, setRuns] = useState(0);
  const refreshes = useEvery(state.refresh);
  const range = useMemo((): Instants | undefined => {
    const resolved = resolve(state.range, state.utc);
    return typeof resolved === 'string' ? undefined : resolved; // TimePicker tells what is wrong
  }, [state.range.from, state.range.to, state.utc, runs, refreshes]);
  const choice = [state.range.from, state.range.to, state.utc].join(' ');

  const set = (change: Partial<State>) => go('explore', formatState({...state, ...change}));
  const setPanels = (change: (panels: PanelState[]) => PanelState[]) => set({panels: change(state.panels)});
  const zoom = (r: Instants) => set({range: absolute(rounded(r)), refresh: 0});
  const run = () => setRuns(n => n + 1);
  const full = state.panels.length >= mostPanels;
  return (
    <>
      <h1 class="unseen">Explore</h1>
      <TimePicker range={state.range} utc={state.utc} refresh={state.refresh} onRun={run}
        onRange={r => set({range: r})} onUTC={utc => set({utc})} onRefresh={refresh => set({refresh})} />
      {state.panels.map((panel, i) => (
        <Guard key={i}><Panel number={i + 1} state={panel} range={range} utc={state.utc} choice={choice} run={runs} turn={refreshes} onRange={zoom} onRun={run}
          onState={s => setPanels(all => all.with(i, s))}
          onAdd={s => { if (!full) setPanels(all => all.toSpliced(i + 1, 0, s)); }}
          onRemove={state.panels.length > 1 ? () => setPanels(all => all.toSpliced(i, 1)) : undefined} /></Guard>
      ))}
      <p><button disabled={full} title={full ? `A page has at most ${mostPanels} panels.` : ''} onClick={() => setPanels(all => [...all, newPanel(all.at(-1)!.language)])}>Add a panel</button></p>
    </>
  );
}
