import {useEffect, useState} from 'preact/hooks';
import {showLabels} from '../lib/frame.ts';
import {fetchData, fetchJSON, fetchText, messageOf} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {edits, whyNoEdits} from '../lib/server.ts';
import {Text} from '../lib/text.tsx';
import type {Rule, Tree} from './trees.tsx';
import {canBeTried, tryRules, type Placed} from './trial.ts';

const types = ['METRIC', 'METRIC_CUSTOM', 'TAGK', 'TAGK_CUSTOM', 'TAGV_CUSTOM'];

/** TreeEditor tries the rules of a tree on series of the store while they are written, and saves them when they are right. */
export function TreeEditor(p: {tree: Tree | undefined; onClose(): void; onSaved(): void}) {
  const [name, setName] = useState(p.tree?.name ?? '');
  const [strict, setStrict] = useState(p.tree?.strictMatch ?? false);
  const [rules, setRules] = useState<Rule[]>(p.tree?.rules ?? [{level: 0, order: 0, type: 'METRIC', regexGroupIdx: 0, separator: '\\.'}]);
  const [selector, setSelector] = useState('{__name__!=""}');
  const [failed, setFailed] = useState('');
  const sample = useRequest(signal => fetchData<Record<string, string>[]>('api/v1/series', {'match[]': selector, limit: 50}, {signal}), [selector]);
  const series = (sample.answer ?? []).map(seriesName).filter(canBeTried);
  const body = useLate(JSON.stringify({strictMatch: strict, rules, series}));
  const trial = useRequest(signal => tryRules(body, signal), [body]);
  const set = (i: number, change: Partial<Rule>) => setRules(all => all.with(i, {...all[i]!, ...change}));

  const save = async () => {
    try {
      await saveTree(p.tree, name, strict, rules);
      p.onSaved();
    } catch (e) {
      setFailed(messageOf(e));
    }
  };
  return (
    <section class="panel" aria-label="Tree editor">
      <h2>{p.tree ? `Rules of ${p.tree.name}` : 'A new tree'}</h2>
      <div class="toolbar">
        {!p.tree && <label class="field">Name <input type="text" value={name} onInput={e => setName(e.currentTarget.value)} /></label>}
        <label><input type="checkbox" checked={strict} onChange={e => setStrict(e.currentTarget.checked)} /> Strict: a series that a level does not match is not placed</label>
      </div>
      <div class="scroll" tabIndex={0}><table class="rules-table">
        <thead><tr><th>Level</th><th>Order</th><th>Type</th><th>Field</th><th>Custom field</th><th>Expression</th><th>Group</th><th>Separator</th><th>Display</th><th><span class="unseen">Remove</span></th></tr></thead>
        <tbody>{rules.map((r, i) => (
          <tr key={i}>
            <td><Field label={`Level of rule ${i + 1}`} size={3} value={String(r.level)} onSet={v => set(i, {level: Number(v) || 0})} /></td>
            <td><Field label={`Order of rule ${i + 1}`} size={3} value={String(r.order)} onSet={v => set(i, {order: Number(v) || 0})} /></td>
            <td><select aria-label={`Type of rule ${i + 1}`} value={r.type} onChange={e => set(i, {type: e.currentTarget.value})}>{types.map(t => <option key={t}>{t}</option>)}</select></td>
            <td><Field label={`Field of rule ${i + 1}`} size={10} value={r.field ?? ''} onSet={field => set(i, {field})} /></td>
            <td><Field label={`Custom field of rule ${i + 1}`} size={8} value={r.customField ?? ''} onSet={customField => set(i, {customField})} /></td>
            <td><Field label={`Expression of rule ${i + 1}`} size={16} value={r.regex ?? ''} onSet={regex => set(i, {regex})} /></td>
            <td><Field label={`Group of rule ${i + 1}`} size={3} value={String(r.regexGroupIdx)} onSet={v => set(i, {regexGroupIdx: Number(v) || 0})} /></td>
            <td><Field label={`Separator of rule ${i + 1}`} size={4} value={r.separator ?? ''} onSet={separator => set(i, {separator})} /></td>
            <td><Field label={`Display of rule ${i + 1}`} size={8} value={r.displayFormat ?? ''} onSet={displayFormat => set(i, {displayFormat})} /></td>
            <td><button aria-label={`Remove rule ${i + 1}`} onClick={() => setRules(all => all.toSpliced(i, 1))}>✕</button></td>
          </tr>
        ))}</tbody>
      </table></div>
      <p class="toolbar">
        <button onClick={() => setRules(all => [...all, {level: (all.at(-1)?.level ?? -1) + 1, order: 0, type: 'TAGK', regexGroupIdx: 0}])}>Add a rule</button>
        <button class="primary" disabled={!edits() || trial.error !== '' || name === ''} title={edits() ? '' : whyNoEdits} onClick={() => { void save(); }}>Save</button>
        <button onClick={p.onClose}>Close</button>
        {!edits() && <span class="dim">{whyNoEdits}</span>}
      </p>
      {(failed || trial.error || sample.error) !== '' && <p class="error" role="alert">{failed || trial.error || sample.error}</p>}
      <label class="field">Try on <input type="text" size={40} value={selector} onChange={e => setSelector(e.currentTarget.value)} /></label>
      <Results all={trial.answer ?? []} />
    </section>
  );
}

function Results(p: {all: Placed[]}) {
  const without = p.all.filter(r => r.path === '').length;
  const shared = p.all.filter(r => r.seriesOnPath > 1).length;
  return (
    <>
      <p class="dim">{p.all.length} series tried: {p.all.length - without} with a place, {without} without, {shared} that share a path.</p>
      <div class="scroll" tabIndex={0}><table>
        <thead><tr><th>Series</th><th>Path</th><th>Remark</th></tr></thead>
        <tbody>{p.all.map(r => (
          <tr key={r.name}>
            <td class="name"><Text of={r.name} /></td><td class="name"><Text of={r.path} /></td>
            <td class={r.path === '' || r.seriesOnPath > 1 ? 'warn' : 'dim'}>
              {r.path === '' ? r.unmatched || r.outcome : r.seriesOnPath > 1 ? `${r.seriesOnPath} of these series have this path` : r.outcome === 'stored' ? '' : r.outcome}
            </td>
          </tr>
        ))}</tbody>
      </table></div>
    </>
  );
}

function Field(p: {label: string; size: number; value: string; onSet(value: string): void}) {
  return <input type="text" aria-label={p.label} size={p.size} value={p.value} spellcheck={false} onInput={e => p.onSet(e.currentTarget.value)} />;
}

/** seriesName writes labels so that any metric's name stands before the brace. */
function seriesName(labels: Record<string, string>): string {
  const {__name__: name = '', ...rest} = labels;
  return Object.keys(rest).length === 0 ? name : name + showLabels(rest);
}

/** useLate returns a text once it has been the same for a moment. */
function useLate(text: string): string {
  const [late, set] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => set(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return late;
}

/** saveTree sends a tree by OpenTSDB's API. */
async function saveTree(old: Tree | undefined, name: string, strictMatch: boolean, rules: Rule[]): Promise<void> {
  const json = (method: string, value: unknown) => ({method, body: JSON.stringify(value), headers: {'Content-Type': 'application/json'}});
  let treeId = old?.treeId;
  if (treeId === undefined) {
    const made = await fetchJSON<{treeId: number}>('api/tree', {}, json('POST', {name, strictMatch, enabled: false, storeFailures: true}));
    treeId = made.treeId;
  }
  await fetchText('api/tree/rules', {}, json('PUT', rules.map(r => ({...r, treeId}))));
  await fetchText('api/tree', {}, json('POST', {treeId, strictMatch, enabled: true}));
}
