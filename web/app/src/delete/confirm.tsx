import {useState} from 'preact/hooks';
import {fetchIfThere, fetchText, messageOf} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {admin, whyReadOnly} from '../lib/server.ts';
import {formatTime, type Instants} from '../lib/time.ts';
import {Failed, Waiting} from '../lib/waiting.tsx';
import {confirms, paramsOf, phraseFor} from './selection.ts';

interface Props {
  match: string;
  time: Instants | undefined;
  series: number;
  onDone(text: string): void;
}

/** Confirm deletes, once the number of series has been typed. */
export function Confirm(p: Props) {
  const [typed, setTyped] = useState('');
  const [clean, setClean] = useState(false);
  const [doing, setDoing] = useState('');
  const [failed, setFailed] = useState('');
  const engine = useRequest(signal => fetchIfThere<{engine: string}>('api/v1/status/engine', {}, {signal}), []).answer?.engine;
  const hbase = engine === 'hbase';
  const cleans = hbase || engine === 'embedded';
  const may = admin() && doing === '' && confirms(typed, p.series);
  const named = `${formatCount(p.series)} series`;
  const run = async () => {
    let done = '';
    try {
      setFailed('');
      setDoing('Deleting');
      await fetchText('api/v1/admin/tsdb/delete_series', paramsOf(p.match, p.time), {method: 'POST'});
      done = p.time ? `The points of ${named} in this time are deleted.` : `${named} are deleted.`;
      if (clean) {
        setDoing('Deleted. Giving the disk space back');
        await fetchText('api/v1/admin/tsdb/clean_tombstones', {}, {method: 'POST'});
        done += hbase ? ' HBase gives their disk space back as it compacts.' : ' Their disk space is given back.';
      }
      p.onDone(done);
    } catch (e) {
      setDoing('');
      if (done === '') setFailed(messageOf(e));
      else p.onDone(`${done} Their disk space was not given back: ${messageOf(e)}`);
    }
  };
  return (
    <section class="panel" aria-label="Confirm">
      <h2>Confirm</h2>
      {!admin() && <p class="note">Nothing can be deleted here. {whyReadOnly}</p>}
      <p>
        {p.time ? <>Points from <b>{formatTime(p.time.start, false)}</b> to <b>{formatTime(p.time.end, false)}</b> of {named} go: </> : <>{named} go as a whole: </>}
        samples, histograms, exemplars, rolled up values and annotations. What is written after the deletion stays.
      </p>
      <p><label><input type="checkbox" checked={clean} disabled={!admin() || !cleans} onChange={e => setClean(e.currentTarget.checked)} /> Then give the disk space back (clean_tombstones): {hbase ? 'HBase makes a major compaction of its tables, which is much work for large ones' : 'the store is rewritten, which takes minutes for a large one'}</label>
        {engine !== undefined && !cleans && <span class="dim"> – not for this store.</span>}</p>
      <p class="toolbar">
        <label class="field">Type <code>{phraseFor(p.series)}</code> to confirm <input type="text" size={16} value={typed} autocomplete="off" spellcheck={false} disabled={!admin() || doing !== ''}
          onInput={e => setTyped(e.currentTarget.value)} onKeyDown={e => { if (e.key === 'Enter' && may) void run(); }} /></label>
        <button class="danger" disabled={!may} title={admin() ? '' : whyReadOnly} onClick={() => { void run(); }}>{p.time ? `Delete points of ${named}` : `Delete ${named}`}</button>
      </p>
      {doing !== '' && <Waiting what={doing} />}
      <Failed error={failed} />
    </section>
  );
}
