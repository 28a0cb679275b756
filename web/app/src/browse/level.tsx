import {useState} from 'preact/hooks';
import {explore} from '../explore/open.ts';
import {targetOf} from '../language/target.ts';
import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {Spark} from './spark.tsx';

interface Node {
  path: string;
  branch: boolean;
  series: number;
  trees: number[];
}

interface Found {
  nodes: Node[];
  more: boolean;
}

interface Props {
  path: string;
  search: string;
  tree: string;
  /** loaded: the server has read all names. */
  loaded: boolean;
  open: ReadonlySet<string>;
  toggle(path: string): void;
  onPick(subject: string): void;
}

/** page is how many nodes are added at a time, most how many of a level are listed at all. */
const page = 200;
const most = 5000;

/** Level lists the nodes below a path, at most some hundred at a time. With a search it lists what was found at any depth. */
export function Level(p: Props) {
  const [limit, setLimit] = useState(page);
  const request = useRequest(signal => fetchData<Found>('api/v1/status/trees/browse', {
    path: p.path, search: p.search, deep: p.search === '' ? undefined : 1, tree: p.tree === '' ? undefined : p.tree, limit,
  }, {signal}), [p.path, p.search, p.tree, limit]);
  if (request.error !== '') return <li class="error" role="alert">{request.error}</li>;
  if (!request.answer) return <li class="dim">…</li>;
  const {nodes, more} = request.answer;
  return (
    <>
      {nodes.map(n => <NodeOf key={n.path} {...p} node={n} only={p.path === '' && p.search === '' && nodes.length === 1} />)}
      {nodes.length === 0 && <li class="dim">{!p.loaded ? 'The server has not read the names yet.' : p.search === '' ? 'No series has a path here.' : 'Nothing was found.'}</li>}
      {more && limit < most && <li><button class="small more" onClick={() => setLimit(limit + page * 2)}>Show more</button></li>}
      {more && limit >= most && <li class="dim">There are more: search for a part of the name.</li>}
    </>
  );
}

/** NodeOf shows a node. The only branch of a tree is open at first. */
function NodeOf(p: Props & {node: Node; only: boolean}) {
  const n = p.node;
  const [folded, fold] = useState(false);
  const name = p.search === '' && p.path !== '' ? n.path.slice(p.path.length + 1) : n.path;
  const isOpen = p.only ? !folded : p.open.has(n.path);
  return (
    <li>
      <div class="leaf">
        {n.branch
          ? <button class="plain fold" aria-expanded={isOpen} onClick={() => p.only ? fold(!folded) : p.toggle(n.path)}><span class="arrow" aria-hidden="true">{isOpen ? '▾' : '▸'}</span><Text of={name} /></button>
          : <button class="plain" onClick={() => p.onPick(n.path)}><Text of={name} /></button>}
        {n.series > 0 && (
          <span class="leaf-tools">
            {n.series > 1 && <span class="badge warn" title="These series share the path: only one of them is found by it.">{n.series} series</span>}
            <Spark target={targetOf(n.path)} />
            <button class="small" onClick={() => explore('graphite', targetOf(n.path))} aria-label={`Graph ${n.path.slice(0, 300)}`}>Graph</button>
            <button class="small" onClick={() => p.onPick(n.path)} aria-label={`Why is ${n.path.slice(0, 300)} here?`}>Why here?</button>
          </span>
        )}
      </div>
      {n.branch && isOpen && <ul><Level {...p} path={n.path} search="" /></ul>}
    </li>
  );
}
