import {Command} from '../lib/copy.tsx';
import {Guard} from '../lib/guard.tsx';
import {PageHead} from '../lib/head.tsx';
import {go} from '../lib/route.ts';
import {admin, whyReadOnly} from '../lib/server.ts';
import {baseURL} from '../start/doors.ts';
import {Transfers} from './transfers.tsx';
import {waysTo, type Way} from './ways.ts';

/** Migrate tells what to run to bring data along, and what runs. */
export function Migrate(p: {params: URLSearchParams}) {
  const ways = waysTo(baseURL());
  const chosen = ways.filter(w => w.id === p.params.get('from'));
  return (
    <>
      <PageHead title="Migrate" text="Bring the data along, take it away, and see how far it is." />
      {!admin() && <p class="note">Imports into a running adapter are refused, because it is read-only. {whyReadOnly}</p>}
      <Guard><Transfers /></Guard>
      <div class="toolbar" role="group" aria-label="Where the data is">
        <span class="dim">The data is in</span>
        {ways.map(w => <button key={w.id} aria-pressed={w === chosen[0]} onClick={() => choose(w === chosen[0] ? '' : w.id)}>{w.title}</button>)}
      </div>
      <div class={chosen.length > 0 ? '' : 'migrations'}>{(chosen.length > 0 ? chosen : ways).map(w => <OneWay key={w.id} way={w} />)}</div>
    </>
  );
}

function choose(id: string): void {
  go('migrate', id === '' ? new URLSearchParams() : new URLSearchParams({from: id}), true);
}

function OneWay(p: {way: Way}) {
  const w = p.way;
  return (
    <section class="panel" aria-label={w.title}>
      <header><h2>{w.title}</h2><a class="end" href={`docs/${w.page}`} aria-label={`Handbook about ${w.title}`}>Handbook</a></header>
      <ol class="steps">{w.steps.map((s, i) => (
        <li key={i}>{s.text}{s.command && <Command text={s.command} what={`command ${i + 1} of ${w.title}`} />}</li>
      ))}</ol>
    </section>
  );
}
