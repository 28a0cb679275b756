import {explore} from '../explore/open.ts';
import {showLabels} from '../lib/frame.ts';
import {fetchData} from '../lib/http.ts';
import {formatCount} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {formatRoute} from '../lib/route.ts';
import {Text} from '../lib/text.tsx';
import {Failed, Waiting} from '../lib/waiting.tsx';
import type {Count} from '../start/store.ts';
import {Counts} from './counts.tsx';
import {Exemplars} from './exemplars.tsx';

type Metadata = Record<string, {type: string; help: string; unit: string}[]>;

/** mostSeries bounds what is read of a metric; mostValues how many values of a label are listed. */
const mostSeries = 5000;
const mostValues = 15;

/** OneMetric tells about a metric: its metadata, its labels, series without points of late, exemplars. */
export function OneMetric(p: {metric: string}) {
  const selector = `{__name__=${JSON.stringify(p.metric)}}`;
  const all = useRequest(signal => fetchData<Record<string, string>[]>('api/v1/series', {'match[]': selector, limit: mostSeries}, {signal}), []);
  const active = useRequest(signal => fetchData<{result: {value: [number, string]}[]}>('api/v1/query', {query: `count(count_over_time(${selector}[1h]))`}, {signal}), []);
  const metadata = useRequest(signal => fetchData<Metadata>('api/v1/metadata', {metric: p.metric}, {signal}), []);
  const series = all.answer ?? [];
  const cut = series.length === mostSeries;
  const about = metadata.answer?.[p.metric]?.[0];
  return (
    <>
      <section class="panel" aria-label="About">
        <header>
          <h2><code><Text of={p.metric} /></code></h2>
          {about && about.type !== 'unknown' && <span class="badge">{about.type}</span>}
          {about && about.unit !== '' && <span class="badge">{about.unit}</span>}
          <a class="end" href={formatRoute('delete', new URLSearchParams({match: selector}))}>Delete series…</a>
          <button class="primary" onClick={() => explore('promql', selector)}>Graph</button>
        </header>
        {about?.help ? <p>{about.help}</p> : metadata.answer && <p class="dim">No metadata was sent.</p>}
        {all.answer ? (
          <p>{formatCount(series.length)}{cut ? ' or more' : ''} series{active.answer && `, ${formatCount(Number(active.answer.result[0]?.value[1] ?? 0))} of them with points in the last hour`}.</p>
        ) : all.error === '' && <Waiting what="Counting" />}
        {cut && <p class="note">The labels below are those of the first {formatCount(mostSeries)} series.</p>}
        <Failed error={all.error} />
      </section>
      <div class="columns">
        {countLabels(series).map(l => (
          <Counts key={l.name} title={`Label ${l.name}`} note={l.values.length > mostValues ? `${formatCount(l.values.length)} values, those with most series first` : `${formatCount(l.values.length)} ${l.values.length === 1 ? 'value' : 'values'}`}
            all={l.values.slice(0, mostValues)} onPick={v => explore('promql', showLabels({__name__: p.metric, [l.name]: v}))} />
        ))}
      </div>
      <Exemplars selector={selector} />
    </>
  );
}

function countLabels(series: Record<string, string>[]): {name: string; values: Count[]}[] {
  const all = new Map<string, Map<string, number>>();
  for (const labels of series) {
    for (const [k, v] of Object.entries(labels)) {
      if (k === '__name__') continue;
      const values = all.get(k) ?? new Map<string, number>();
      values.set(v, (values.get(v) ?? 0) + 1);
      all.set(k, values);
    }
  }
  return [...all].map(([name, values]) => ({
    name, values: [...values].map(([name, value]) => ({name, value})).sort((a, b) => b.value - a.value || (a.name < b.name ? -1 : 1)),
  })).sort((a, b) => b.values.length - a.values.length);
}
