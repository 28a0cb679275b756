import {fetchIfThere} from '../lib/http.ts';
import {formatAge, formatBytes, formatCount} from '../lib/format.ts';
import {useEvery, useRequest} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';

interface Transfer {
  id: string;
  kind: string;
  client: string;
  began: string;
  last: string;
  points: number;
  bytes: number;
  files?: number;
  filesOf?: number;
  secondsLeft?: number;
  source?: string;
  running: boolean;
  done: boolean;
  failed?: string;
}

/** Transfers shows the imports and exports that go through this adapter, and those that ended of late. */
export function Transfers() {
  const request = useRequest(signal => fetchIfThere<{transfers: Transfer[] | null}>('api/v1/status/transfers', {}, {signal}), [], useEvery(2));
  const all = request.answer?.transfers ?? [];
  if (!request.answer && request.error === '') return null;
  return (
    <section class="panel" aria-label="Imports and exports">
      <h2>Imports and exports</h2>
      <Failed error={request.error} />
      {request.answer && all.length === 0 && <p class="dim">None runs, and none ended in the last day. One that is begun is shown here.</p>}
      {all.map(t => <One key={t.id} transfer={t} />)}
    </section>
  );
}

function One(p: {transfer: Transfer}) {
  const t = p.transfer;
  const of = t.filesOf ?? 0;
  const part = of > 0 ? Math.min((t.files ?? 0) / of, 1) : undefined;
  const took = (Date.parse(t.last) - Date.parse(t.began)) / 1000;
  return (
    <div class="transfer">
      <div class="toolbar">
        <b>{t.kind}</b>
        {t.source && <code><Text of={t.source} /></code>}
        <State transfer={t} />
        <span class="dim end">from {t.client}, since {formatTime(Date.parse(t.began), false).slice(0, 19)}</span>
      </div>
      {part !== undefined && (
        <div class="bar" role="progressbar" aria-label={`${t.kind} ${t.source ?? ''}`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(part * 100)}>
          <i style={{width: `${part * 100}%`}} />
        </div>
      )}
      <p class="dim">
        {part !== undefined && `${formatCount(t.files ?? 0)} of ${formatCount(of)} files, `}{formatCount(t.points)} points, {formatBytes(t.bytes)}
        {took >= 1 && t.points > 0 && `, ${formatCount(t.points / took)} points per second`}
        {t.running && t.secondsLeft !== undefined && `, about ${formatAge(t.secondsLeft)} left`}
      </p>
      {t.failed && <p class="error">{t.failed}</p>}
    </div>
  );
}

function State(p: {transfer: Transfer}) {
  const t = p.transfer;
  if (t.failed) return <span class="badge bad">failed</span>;
  if (t.done) return <span class="badge good">done</span>;
  return t.running ? <span class="badge">running</span> : <span class="badge warn">stopped</span>;
}
