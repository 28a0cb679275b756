import {useState} from 'preact/hooks';
import {formatTime, move, resolve, widen, type Instants, type Range} from '../lib/time.ts';

interface Props {
  range: Range;
  utc: boolean;
  refresh: number;
  onRange(range: Range): void;
  onUTC(utc: boolean): void;
  onRefresh(seconds: number): void;
  onRun(): void;
}

const quick: [string, string][] = [
  ['now-15m', '15 minutes'], ['now-1h', '1 hour'], ['now-3h', '3 hours'], ['now-6h', '6 hours'], ['now-12h', '12 hours'], ['now-24h', '24 hours'],
  ['now-2d', '2 days'], ['now-7d', '7 days'], ['now-30d', '30 days'], ['now-90d', '90 days'], ['now-1y', '1 year'], ['now-5y', '5 years'],
];
const refreshes: [number, string][] = [[0, 'off'], [5, '5 s'], [15, '15 s'], [30, '30 s'], [60, '1 min'], [300, '5 min']];

/** TimePicker chooses the range of all panels. */
export function TimePicker(p: Props) {
  const now = resolve(p.range, p.utc);
  const step = (to: (r: Instants) => Instants) => {
    if (typeof now === 'string') return;
    p.onRange(absolute(to(now)));
  };
  const known = p.range.to === 'now' ? quick.find(([from]) => from === p.range.from)?.[0] ?? '' : '';
  return (
    <div class="timepicker" role="group" aria-label="Time range">
      <select aria-label="Range until now" value={known} onChange={e => { if (e.currentTarget.value) p.onRange({from: e.currentTarget.value, to: 'now'}); }}>
        <option value="">Range…</option>
        {quick.map(([from, title]) => <option key={from} value={from}>Last {title}</option>)}
      </select>
      <TimeBox label="From" utc={p.utc} value={p.range.from} onSet={from => p.onRange({...p.range, from})} />
      <TimeBox label="To" utc={p.utc} value={p.range.to} onSet={to => p.onRange({...p.range, to})} />
      <span class="buttons">
        <button title="Earlier" aria-label="Earlier" onClick={() => step(r => move(r, -0.5))}>←</button>
        <button title="Zoom out" aria-label="Zoom out" onClick={() => step(widen)}>−</button>
        <button title="Later" aria-label="Later" onClick={() => step(r => move(r, 0.5))}>→</button>
      </span>
      <span class="end">
        <label class="field">Zone <select value={p.utc ? 'utc' : 'local'} onChange={e => p.onUTC(e.currentTarget.value === 'utc')}>
        <option value="local">Local ({Intl.DateTimeFormat().resolvedOptions().timeZone})</option>
        <option value="utc">UTC</option>
      </select></label>
        <label class="field">Refresh <select value={p.refresh} onChange={e => p.onRefresh(Number(e.currentTarget.value))}>
        {refreshes.map(([s, title]) => <option key={s} value={s}>{title}</option>)}
      </select></label>
        <button class="primary" onClick={p.onRun}>Run</button>
      </span>
      {typeof now === 'string' && <p class="error" role="alert">{now}</p>}
    </div>
  );
}

/** absolute returns a range of instants. A link with them means the same in every time zone. */
export function absolute(r: Instants): Range {
  return {from: instant(r.start), to: instant(r.end)};
}

/** instant writes milliseconds so that they are not read as seconds, however early they are. */
function instant(ms: number): string {
  ms = Math.round(ms);
  return ms >= 1e11 ? String(ms) : new Date(ms).toISOString();
}

/** TimeBox is a field for a time; instants are shown as dates. */
function TimeBox(p: {label: string; value: string; utc: boolean; onSet(text: string): void}) {
  const [text, setText] = useState<string>();
  const value = /^\d{12,}$/.test(p.value) ? formatTime(Number(p.value), p.utc) : p.value;
  const done = (typed: string) => {
    setText(undefined);
    if (typed.trim() !== '' && typed !== value) p.onSet(typed.trim());
  };
  return (
    <label class="field">{p.label} <input type="text" size={18} value={text ?? value} spellcheck={false}
      onInput={e => setText(e.currentTarget.value)} onBlur={e => done(e.currentTarget.value)}
      onKeyDown={e => { if (e.key === 'Enter') done(e.currentTarget.value); }} /></label>
  );
}
