import {useMemo, useState} from 'preact/hooks';
import {promql} from '../language/promql.ts';
import {Editor} from '../language/editor.tsx';
import {PageHead} from '../lib/head.tsx';
import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {go} from '../lib/route.ts';
import {Failed, Waiting} from '../lib/waiting.tsx';
import {Confirm} from './confirm.tsx';
import {Named, type Answer} from './named.tsx';
import {formatSelection, instantsOf, paramsOf, parseSelection, type Selection} from './selection.ts';
import {Time} from './time.tsx';

/** Delete deletes series, or their points of a time: it counts what a selector names before anything can be deleted. */
export function Delete(p: {params: URLSearchParams}) {
  const selection = parseSelection(p.params);
  const {match, from, to} = selection;
  const [run, setRun] = useState(0);
  const [done, setDone] = useState('');
  const time = useMemo(() => instantsOf({match, from, to}, Date.now()), [match, from, to, run]);
  const wrong = typeof time === 'string' ? time : '';
  const instants = typeof time === 'string' ? undefined : time;
  const question = `${run} ${formatSelection(selection)}`;
  const ask = match === '' || wrong !== '' ? undefined : async (signal: AbortSignal) => ({
    question, ...await fetchData<Answer>('api/v1/status/selected', {...paramsOf(match, instants), limit: 20}, {signal}),
  });
  const request = useRequest(ask, [question]);
  const counted = done === '' && request.error === '' && request.answer?.question === question ? request.answer : undefined;
  const set = (change: Partial<Selection>) => {
    setDone('');
    go('delete', formatSelection({...selection, ...change}), true);
  };
  const count = () => {
    setDone('');
    setRun(n => n + 1);
  };
  return (
    <>
      <PageHead title="Delete series" text="Choose series, see how many they are, confirm. A deletion cannot be taken back." />
      <section class="panel" aria-label="What to delete">
        <h2>What to delete</h2>
        <div class="query">
          <Editor language={promql} value={match} label="Selector of the series to delete" hint='up{job="old"}' error={request.error} onRun={text => { set({match: text.trim()}); count(); }}
            onLeave={text => { if (text.trim() !== match) set({match: text.trim()}); }} />
          <button class="primary" onClick={count}>Count</button>
        </div>
        <Time from={from} to={to} error={wrong} onChange={set} />
        <Failed error={request.error} />
        {request.running && ask && <Waiting what="Counting" />}
      </section>
      {done !== '' && <p class="success" role="status">{done}</p>}
      {counted && <Named answer={counted} whole={instants === undefined} />}
      {counted && counted.series > 0 && (
        <Confirm key={question} match={match} time={instants} series={counted.series} onDone={setDone} />
      )}
    </>
  );
}
