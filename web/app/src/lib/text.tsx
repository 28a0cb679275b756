import {visible} from './visible.ts';

/** longest is how much of a text is shown: names and queries may be as long as a page. */
const longest = 300;

/** Text shows a name or a query that others wrote: shortened, and in a direction of its own. The tip has more of it. */
export function Text(p: {of: string; none?: string}) {
  if (p.of === '') return <>{p.none ?? ''}</>;
  if (p.of.length <= longest) return <bdi>{visible(p.of)}</bdi>;
  return <bdi title={p.of.slice(0, 4000)}>{visible(p.of.slice(0, longest))}… <span class="dim">({p.of.length} characters)</span></bdi>;
}
