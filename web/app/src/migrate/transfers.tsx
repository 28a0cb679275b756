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
  running: boolean;
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
  return (
    <div class="transfer">
      <div class="toolbar">
        <b>{t.kind}</b>
        <span class={t.running ? 'badge good' : 'badge'}>{t.running ? 'running' : 'ended'}</span>
        <span class="dim end">from {t.client}, since {formatTime(Date.parse(t.began), false).slice(0, 19)}</span>
      </div>
      <p class="dim">
        {formatCount(t.requests)} requests in {formatAge(took)}, {formatBytes(t.receivedBytes)} received, {formatBytes(t.sentBytes)} sent
        {took >= 1 && `, ${formatBytes(moved / took)} per second`}. The command itself prints how many files are done (<code>--progress</code>).
      </p>
      {t.failedRequests > 0 && <p class="note">{formatCount(t.failedRequests)} requests failed; the command asks again. Warnings of the log, in <a href="#/status">Status</a>, tell why.</p>}
    </div>
  );
}
