import {Command} from '../lib/copy.tsx';
import {Guard} from '../lib/guard.tsx';
import {PageHead} from '../lib/head.tsx';
import {admin, whyReadOnly} from '../lib/server.ts';
import {baseURL} from '../start/doors.ts';
import {Transfers} from './transfers.tsx';
import {waysTo} from './ways.ts';

/** Migrate tells what to run to bring data along, and what runs. */
export function Migrate() {
  return (
    <>
      <PageHead title="Migrate" text="Bring the data along, and see how far it is." />
      {!admin() && <p class="note">Imports into a running adapter are refused, because it is read-only. {whyReadOnly}</p>}
      <Guard><Transfers /></Guard>
      <div class="migrations">
        {waysTo(baseURL()).map(w => (
          <section class="panel" key={w.title} aria-label={w.title}>
            <h2>{w.title}</h2>
            <ol class="steps">{w.steps.map((s, i) => (
              <li key={i}>{s.text}{s.command && <Command text={s.command} what={`command ${i + 1} of ${w.title}`} />}</li>
            ))}</ol>
          </section>
        ))}
      </div>
    </>
  );
}
