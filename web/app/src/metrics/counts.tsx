import {formatCount} from '../lib/format.ts';
import type {Count} from '../start/store.ts';

interface Props {
  title: string;
  all: Count[];
  note?: string;
  format?: (n: number) => string;
  onPick?: ((name: string) => void) | undefined;
}

/** Counts is a list of names with how many there are of each, and a bar that compares them. */
export function Counts(p: Props) {
  const most = Math.max(1, ...p.all.map(c => c.value));
  return (
    <section class="panel" aria-label={p.title}>
      <header><h2>{p.title}</h2>{p.note && <span class="dim">{p.note}</span>}</header>
      <table>
        <tbody>{p.all.map(c => (
          <tr key={c.name}>
            <td class="name wide">
              {p.onPick ? <button class="plain" onClick={() => p.onPick!(c.name)}><Shown name={c.name} /></button> : <Shown name={c.name} />}
              <span class="share" style={{width: `${(c.value / most) * 100}%`}} aria-hidden="true" />
            </td>
            <td class="number">{(p.format ?? formatCount)(c.value)}</td>
          </tr>
        ))}</tbody>
      </table>
      {p.all.length === 0 && <p class="dim">There are none.</p>}
    </section>
  );
}

/** longest is how much of a name is shown: names may be as long as a page. */
const longest = 300;

function Shown(p: {name: string}) {
  if (p.name === '') return <>(none)</>;
  return <bdi title={p.name.length > longest ? p.name.slice(0, 4000) : undefined}>{p.name.length > longest ? `${p.name.slice(0, longest)}…` : p.name}</bdi>;
}
