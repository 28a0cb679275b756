import {useState} from 'preact/hooks';
import {Names} from '../explore/names.tsx';
import {explore} from '../explore/open.ts';
import {fetchData} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {PageHead} from '../lib/head.tsx';
import {useRequest} from '../lib/request.ts';
import {go} from '../lib/route.ts';
import {FirstSteps} from '../start/firststeps.tsx';
import {isEmpty, useCardinality} from '../start/store.ts';
import {TreeEditor} from './editor.tsx';
import {Level} from './level.tsx';
import {Trees, type Tree, type TreesStatus} from './trees.tsx';

/** mostOpen bounds what a link can make the page ask for. */
const mostOpen = 50;

/** Browse shows the tree of names level by level; what it has open and what it searches for is in the URL. */
export function Browse(p: {params: URLSearchParams}) {
  const search = p.params.get('search') ?? '';
  const tree = p.params.get('tree') ?? '';
  const open = new Set(p.params.getAll('open').slice(0, mostOpen));
  const [picked, setPicked] = useState('');
  const [edited, setEdited] = useState<{tree: Tree | undefined}>();
  const [saves, setSaves] = useState(0);
  const status = useRequest(signal => fetchData<TreesStatus>('api/v1/status/trees', {}, {signal}), [saves]);
  const counted = useCardinality(1);
  const change = (f: (next: URLSearchParams) => void) => {
    const next = new URLSearchParams(p.params);
    f(next);
    go('browse', next, true);
  };
  const set = (key: string, value: string) => change(next => { if (value === '') next.delete(key); else next.set(key, value); });
  const toggle = (path: string) => change(next => {
    const all = next.getAll('open');
    next.delete('open');
    for (const one of all.includes(path) ? all.filter(o => o !== path) : [...all, path].slice(-mostOpen)) next.append('open', one);
  });
  return (
    <>
      <PageHead title="Browse" text="The tree of names, and why each series is where it is." />
      {isEmpty(counted) && <div class="panel"><FirstSteps /></div>}
      <div class="columns two-one">
        <section class="panel" aria-label="Names">
          <div class="toolbar">
            <label class="field">Search <input type="search" value={search} size={28} placeholder="part of a name, or a pattern" onInput={e => set('search', e.currentTarget.value)} /></label>
            <label class="field">Tree <select value={tree} onChange={e => set('tree', e.currentTarget.value)}>
              <option value="">all</option>
              {status.answer?.trees.map(t => <option key={t.treeId} value={t.treeId}>{t.name}</option>)}
            </select></label>
            {status.answer && <span class="dim status">{formatCount(status.answer.leaves)} leaves, {formatCount(status.answer.branches)} branches</span>}
          </div>
          <ul class="tree names-tree">
            <Level path="" search={search} tree={tree} loaded={status.answer?.loaded ?? true} open={open} toggle={toggle} onPick={setPicked} />
          </ul>
        </section>
        <Trees status={status} onEdit={tree => setEdited({tree})} />
      </div>
      {edited && (
        <TreeEditor key={edited.tree?.treeId ?? 0} tree={edited.tree} onClose={() => setEdited(undefined)} onSaved={() => {
          setEdited(undefined);
          setSaves(saves + 1);
        }} />
      )}
      {picked !== '' && <Names subject={picked} onClose={() => setPicked('')} onUse={(id, text) => explore(id, text)} />}
    </>
  );
}
