import {formatCount} from '../lib/format.ts';
import {Text} from '../lib/text.tsx';
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
              {p.onPick ? <button class="plain" onClick={() => p.onPick!(c.name)}><Text of={c.name} none="(none)" /></button> : <Text of={c.name} none="(none)" />}
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
