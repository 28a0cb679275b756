import {fetchIfThere} from '../lib/http.ts';
import {formatAge, formatBytes, formatCount} from '../lib/format.ts';
import {useEvery, useRequest} from '../lib/request.ts';
import {formatTime} from '../lib/time.ts';
import {Failed} from '../lib/waiting.tsx';

interface Transfer {
  kind: string;
  client: string;
  began: string;
  last: string;
  requests: number;
  failedRequests: number;
  receivedBytes: number;
  sentBytes: number;
  points: number;
  refused: number;
  running: boolean;
  told?: Told;
}

/** Told is what the command tells, which knows the whole. */
interface Told {
  unit?: string;
  total?: number;
  done: number;
  bytes?: number;
  bytesDone?: number;
  points: number;
  pointsBefore?: number;
  badLines?: number;
  skipped?: number;
  at?: string;
  seconds: number;
  secondsLeft?: number;
  state?: 'done' | 'failed';
  error?: string;
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
      {all.map(t => <One key={`${t.kind} ${t.client} ${t.began}`} transfer={t} />)}
    </section>
  );
}

function One(p: {transfer: Transfer}) {
  const t = p.transfer;
  const took = (Date.parse(t.last) - Date.parse(t.began)) / 1000;
  const moved = t.receivedBytes + t.sentBytes;
  const state = t.running ? 'running' : t.told?.state ?? 'ended';
  return (
    <div class="transfer">
      <div class="toolbar">
        <b>{t.kind}</b>
        <span class={'badge' + (state === 'failed' ? ' bad' : state === 'ended' ? '' : ' good')}>{state}</span>
        <span class="dim end">from {t.client}, since {formatTime(Date.parse(t.began), false).slice(0, 19)}</span>
      </div>
      {t.told && <Progress told={t.told} running={t.running} />}
      <p class="dim">
        {formatCount(t.requests)} requests in {formatAge(took)}, {formatBytes(t.receivedBytes)} received, {formatBytes(t.sentBytes)} sent
        {took >= 1 && `, ${formatBytes(moved / took)} per second`}.
        {!t.told && ` ${formatCount(t.points)} points. This command is older and does not tell how far it is; it prints that itself (--progress).`}
      </p>
      {t.told?.error && <p class="error">{t.told.error}</p>}
      {t.refused > 0 && <p class="note">Refused lines or series: {formatCount(t.refused)}. The command prints which ones and why.</p>}
      {t.failedRequests > 0 && <p class="note">{formatCount(t.failedRequests)} requests failed; the command asks again. Warnings of the log, in <a href="#/status">Status</a>, tell why.</p>}
    </div>
  );
}

/** Progress shows how much is done: by bytes if they are known, else by what is counted. */
function Progress(p: {told: Told; running: boolean}) {
  const t = p.told;
  const [done, all] = t.bytes ? [t.bytesDone ?? 0, t.bytes] : [t.done, t.total ?? 0];
  const parts = [];
  if (t.total) parts.push(`${formatCount(t.done)} of ${formatCount(t.total)} ${t.unit ?? ''}`);
  if (t.bytes) parts.push(`${formatBytes(t.bytesDone ?? 0)} of ${formatBytes(t.bytes)}`);
  parts.push(`${formatCount(t.points)} points` + (t.seconds >= 1 ? ` (${formatCount(t.points / t.seconds)} per second)` : ''));
  if (t.pointsBefore) parts.push(`${formatCount(t.pointsBefore)} points by earlier runs`);
  if (t.badLines) parts.push(`${formatCount(t.badLines)} bad lines`);
  if (t.skipped) parts.push(`${formatCount(t.skipped)} skipped`);
  return (
    <>
      {all > 0 && <progress max={all} value={Math.min(done, all)} aria-label="done">{Math.floor(100 * done / all)} %</progress>}
      <p>
        {all > 0 && <b>{Math.floor(100 * Math.min(done, all) / all)} %</b>} {parts.join(', ')}
        {p.running && (t.secondsLeft ? `; about ${formatAge(t.secondsLeft)} left` : '; time left: not known')}
        {p.running && t.at && <>; at <code>{t.at}</code></>}
      </p>
    </>
  );
}
