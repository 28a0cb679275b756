import {Command} from '../lib/copy.tsx';
import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {baseURL, doorsOf} from './doors.ts';

/** FirstSteps tells how to send the first point, for each protocol. */
export function FirstSteps() {
  const flags = useRequest(signal => fetchData<Record<string, string>>('api/v1/status/flags', {}, {signal}), []);
  if (!flags.answer) return null;
  return (
    <section aria-label="First steps">
      <h2>The store is empty. Send it something</h2>
      <p class="dim">The page shows the first points as soon as they are there.</p>
      <div class="start">
        {doorsOf(flags.answer, baseURL()).map(d => (
          <div key={d.title}>
            <h3>From {d.title}</h3>
            <p class="dim">{d.text}</p>
            {d.command !== '' && <Command text={d.command} what={`the command for ${d.title}`} />}
          </div>
        ))}
      </div>
      <p class="dim">Data of the past comes along too: see <a href="#/migrate">Migrate</a>.</p>
    </section>
  );
}
