import {useState} from 'preact/hooks';
import {fetchData} from '../lib/http.ts';
import {PageHead} from '../lib/head.tsx';
import {useRequest} from '../lib/request.ts';
import {go} from '../lib/route.ts';
import {Text} from '../lib/text.tsx';
import {Failed} from '../lib/waiting.tsx';
import {OneMetric} from './one.tsx';
import {Overview} from './overview.tsx';

/** Metrics tells what there is most of, and everything about one metric. */
export function Metrics(p: {params: URLSearchParams}) {
  const metric = p.params.get('metric') ?? '';
  return (
    <>
      <PageHead title="Metrics" text="What the store has most of, what grows, and what has gone silent." />
      <Finder metric={metric} />
      {metric === '' ? <Overview onPick={show} /> : <OneMetric key={metric} metric={metric} />}
    </>
  );
}

function show(metric: string): void {
  go('metrics', metric === '' ? new URLSearchParams() : new URLSearchParams({metric}));
}

function Finder(p: {metric: string}) {
  const [text, setText] = useState('');
  const found = useRequest(
    text === '' ? undefined : signal => fetchData<string[]>('api/v1/label/__name__/values', {'match[]': `{__name__=~${JSON.stringify(`.*${escape(text)}.*`)}}`, limit: 50}, {signal}),
    [text],
  );
  return (
    <section aria-label="Find a metric">
      <p class="toolbar">
        <label class="field">Find <input type="search" value={text} size={40} placeholder="part of a metric's name" onInput={e => setText(e.currentTarget.value)} /></label>
        {p.metric !== '' && <button onClick={() => show('')}>All metrics</button>}
        {p.metric === '' && <a class="end" href="#/delete">Delete series…</a>}
      </p>
      <Failed error={found.error} />
      {text !== '' && found.answer && (
        <div class="panel"><ul class="found">{found.answer.map(m => <li key={m}><button class="plain" onClick={() => { setText(''); show(m); }}><Text of={m} /></button></li>)}
          {found.answer.length === 0 && <li class="dim">No metric has this in its name.</li>}
          {found.answer.length === 50 && <li class="dim">There may be more: write more of the name.</li>}</ul></div>
      )}
    </section>
  );
}

function escape(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
