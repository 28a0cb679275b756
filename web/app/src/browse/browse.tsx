import {useState} from 'preact/hooks';
import {Names} from '../explore/names.tsx';
import {formatState, newPanel} from '../explore/state.ts';
import type {LanguageID} from '../language/language.ts';
import {fetchData} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {go} from '../lib/route.ts';
import {TreeEditor} from './editor.tsx';
import {Spark} from './spark.tsx';
import {Trees, type Tree, type TreesStatus} from './trees.tsx';

interface Found {
  nodes: {path: string; branch: boolean; series: number; trees: number[]}[];
  more: boolean;
}

/** explore shows a query in Explore. */
export function explore(language: LanguageID, text: string): void {
  go('explore', formatState({range: {from: 'now-6h', to: 'now'}, utc: false, refresh: 0, panels: [newPanel(language, text)]}));
}

/** Browse shows the tree of names level by level; what it has open and what it searches for is in the URL. */
export function Browse(p: {params: URLSearchParams}) {
  const search = p.params.get('search') ?? '';
  const tree = p.params.get('tree') ?? '';
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set());
  const [picked, setPicked] = useState('');
  const [edited, setEdited] = useState<{tree: Tree | undefined}>();
  const [saves, setSaves] = useState(0);
  const status = useRequest(signal => fetchData<TreesStatus>('api/v1/status/trees', {}, {signal}), [saves]);
  const set = (change: Record<string, string>) => {
    const next = new URLSearchParams(p.params);
    for (const [k, v] of Object.entries(change)) if (v === '') next.delete(k); else next.set(k, v);
    go('browse', next, true);
  };
  const toggle = (path: string) => setOpen(all => {
    const next = new Set(all);
    if (!next.delete(path)) next.add(path);
    return next;
  });
  return (
    <>
      <h1>Browse</h1>
      <div class="columns">
        <section class="panel" aria-label="Names">
          <div class="toolbar">
            <label>Search <input type="search" value={search} size={28} placeholder="part of a name, or a pattern" onInput={e => set({search: e.currentTarget.value})} /></label>
            <label>Tree <select value={tree} onChange={e => set({tree: e.currentTarget.value})}>
              <option value="">all</option>
              {status.answer?.trees.map(t => <option key={t.treeId} value={t.treeId}>{t.name}</option>)}
            </select></label>
            {status.answer && <span class="dim status">{formatCount(status.answer.leaves)} leaves, {formatCount(status.answer.branches)} branches</span>}
          </div>
          <ul class="tree names-tree">
            <Level path="" search={search} tree={tree} open={open} toggle={toggle} onPick={setPicked} />
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

interface LevelProps {
  path: string;
  search: string;
  tree: string;
  open: ReadonlySet<string>;
  toggle(path: string): void;
  onPick(subject: string): void;
}

const page = 200;

/** Level lists the nodes below a path, at most some hundred at a time. With a search it lists what was found at any depth. */
function Level(p: LevelProps) {
  const [limit, setLimit] = useState(page);
  const request = useRequest(signal => fetchData<Found>('api/v1/status/trees/browse', {
    path: p.path, search: p.search, deep: p.search === '' ? undefined : 1, tree: p.tree === '' ? undefined : p.tree, limit,
  }, {signal}), [p.path, p.search, p.tree, limit]);
  if (request.error !== '') return <li class="error" role="alert">{request.error}</li>;
  if (!request.answer) return <li class="dim">…</li>;
  const {nodes, more} = request.answer;
  return (
    <>
      {nodes.map(n => {
        const name = p.search === '' && p.path !== '' ? n.path.slice(p.path.length + 1) : n.path;
        const isOpen = p.open.has(n.path);
        return (
          <li key={n.path}>
            <div class="leaf">
              {n.branch
                ? <button class="plain fold" aria-expanded={isOpen} onClick={() => p.toggle(n.path)}><span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {name}</button>
                : <button class="plain" onClick={() => p.onPick(n.path)}>{name}</button>}
              {n.series > 0 && (
                <span class="leaf-tools">
                  {n.series > 1 && <span class="dim">{n.series} series</span>}
                  <Spark target={n.path} />
                  <button onClick={() => explore('graphite', n.path)} aria-label={`Graph ${n.path}`}>Graph</button>
                  <button onClick={() => p.onPick(n.path)} aria-label={`Why is ${n.path} here?`}>Why here?</button>
                </span>
              )}
            </div>
            {n.branch && isOpen && <ul><Level {...p} path={n.path} search="" /></ul>}
          </li>
        );
      })}
      {nodes.length === 0 && <li class="dim">{p.search === '' ? 'No series has a path here.' : 'Nothing was found.'}</li>}
      {more && limit < 5000 && <li><button onClick={() => setLimit(limit + page * 2)}>Show more</button></li>}
      {more && limit >= 5000 && <li class="dim">There are more: search for a part of the name.</li>}
    </>
  );
}
