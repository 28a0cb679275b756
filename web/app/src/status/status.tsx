import {Guard} from '../lib/guard.tsx';
import {PageHead} from '../lib/head.tsx';
import {useEvery} from '../lib/request.ts';
import {admin} from '../lib/server.ts';
import {Failed} from '../lib/waiting.tsx';
import {Backups} from './backups.tsx';
import {Doors} from './doors.tsx';
import {Engine} from './engine.tsx';
import {LogAndMemory, StoreFigures} from './figures.tsx';
import {Flags} from './flags.tsx';
import {Forwarding} from './forwarding.tsx';
import {Health, Tiles} from './health.tsx';
import {LastLog} from './lastlog.tsx';
import {Pairs} from './pairs.tsx';
import {Queries} from './queries.tsx';
import {useScrapes} from './scrapes.ts';
import {SlowQueries} from './slow.tsx';

/** Status tells how the process is, a second ago and since it began. */
export function Status() {
  const turn = useEvery(5);
  const scrapes = useScrapes(turn);
  const {now, before} = scrapes;
  return (
    <>
      <PageHead title="Status" text="How the adapter is, asked anew every five seconds." />
      <Guard><Health turn={turn} /></Guard>
      <Failed error={scrapes.error} />
      <Guard><Tiles {...scrapes} /></Guard>
      {now && <Guard><Doors now={now} before={before} turn={turn} /></Guard>}
      {now && <Guard><Forwarding now={now} before={before} /></Guard>}
      <Guard><Pairs turn={turn} /></Guard>
      <Guard><Queries turn={turn} admin={admin()} /></Guard>
      <Guard><SlowQueries turn={turn} /></Guard>
      <Guard><LastLog turn={turn} /></Guard>
      {now && (
        <div class="columns">
          <LogAndMemory now={now} before={before} />
          <StoreFigures now={now} before={before} />
          <Guard><Engine now={now} before={before} turn={turn} /></Guard>
        </div>
      )}
      <Guard><Backups turn={turn} /></Guard>
      <Guard><Flags /></Guard>
    </>
  );
}
