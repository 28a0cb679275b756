import {formatCount} from '../lib/format.ts';
import type {Request} from '../lib/request.ts';

export interface Rule {
  level: number;
  order: number;
  type: string;
  field?: string;
  customField?: string;
  regex?: string;
  regexGroupIdx: number;
  separator?: string;
  displayFormat?: string;
}

export interface Tree {
  treeId: number;
  name: string;
  description: string;
  enabled: boolean;
  strictMatch: boolean;
  rules: Rule[];
  default: boolean;
  noInverse?: string;
  collidedSeries: number;
  collidedPath?: string;
}

export interface TreesStatus {
  trees: Tree[];
  broken: {treeId: number; name: string; error: string}[];
  branches: number;
  leaves: number;
  loaded: boolean;
  sync: {running: boolean; waiting: string[] | null; series: number; of: number};
}

/** Trees lists the trees with their rules, and what is wrong with them. */
export function Trees(p: {status: Request<TreesStatus>; onEdit(tree: Tree | undefined): void}) {
  const s = p.status.answer;
  return (
    <section class="panel" aria-label="Trees">
      <header><h2>Trees</h2><button class="small end" onClick={() => p.onEdit(undefined)}>New tree</button></header>
      {p.status.error !== '' && <p class="error" role="alert">{p.status.error}</p>}
      {s && !s.loaded && <p class="note">The trees are being read: names may be missing until they are.</p>}
      {s?.sync.running && <p class="note">Existing series are being added: {formatCount(s.sync.series)} of {formatCount(s.sync.of)}.</p>}
      {s?.broken.map(b => <p class="error" key={b.treeId}>Tree {b.treeId} ({b.name}) cannot be used: {b.error}</p>)}
      {s?.trees.map(t => <One key={t.treeId} tree={t} onEdit={() => p.onEdit(t)} />)}
      {s?.loaded && !s.trees.some(t => t.enabled) && (
        <p class="dim">Names without tags, as carbon sends them, are found under themselves. Series with tags are in no tree yet:
          make one, or declare one in the configuration file (<code>trees:</code>). All series are in <a href="#/metrics">Metrics</a>.</p>
      )}
    </section>
  );
}

function One(p: {tree: Tree; onEdit(): void}) {
  const t = p.tree;
  return (
    <details class="one-tree">
      <summary><b>{t.name}</b> <span class="badge">{t.default ? 'dotted names' : t.enabled ? 'enabled' : 'not enabled'}</span>
        {t.collidedSeries > 0 && <span class="badge warn">{formatCount(t.collidedSeries)} share a path</span>}</summary>
      {t.description !== '' && <p>{t.description}</p>}
      <table>
        <thead><tr><th>Level</th><th>Order</th><th>Rule</th></tr></thead>
        <tbody>{t.rules.map(r => <tr key={`${r.level}.${r.order}`}><td>{r.level}</td><td>{r.order}</td><td>{ruleText(r)}</td></tr>)}</tbody>
      </table>
      {!t.default && <p><button class="small" onClick={p.onEdit}>Try and edit the rules</button></p>}
      {t.strictMatch && <p class="dim">Strict: a series that a level does not match is not placed.</p>}
      {t.noInverse && <p class="dim">Dotted names do not become metric and tags by this tree: {t.noInverse}</p>}
      {t.collidedSeries > 0 && (
        <p class="note">{formatCount(t.collidedSeries)} series have the path of another one{t.collidedPath && <>, for example <code>{t.collidedPath}</code></>}.
          A rule for one of the tags that differ, or <code>{'{tags...}'}</code> at the end of the path, gives each its own.</p>
      )}
    </details>
  );
}

function ruleText(r: Rule): string {
  const of = [r.field, r.customField].filter(Boolean).join(', ');
  const parts = [of === '' ? r.type : `${r.type} ${of}`];
  if (r.regex) parts.push(`group ${r.regexGroupIdx} of ${r.regex}`);
  if (r.separator) parts.push(`split at ${r.separator}`);
  if (r.displayFormat) parts.push(`shown as ${r.displayFormat}`);
  return parts.join(', ');
}
