import {exploreLink} from '../explore/open.ts';
import {formatCount} from '../lib/format.ts';
import {showLabels} from '../lib/frame.ts';
import {Text} from '../lib/text.tsx';
import {useCardinality} from '../start/store.ts';

export interface Answer {
  series: number;
  metrics: number;
  examples: Record<string, string>[];
}

/** Named tells how many series a selector names, and shows some of them. */
export function Named(p: {answer: Answer; whole: boolean}) {
  const {series, metrics, examples} = p.answer;
  const store = useCardinality(1).answer?.headStats.numSeries ?? 0;
  if (series === 0) return <p class="panel" role="status">No series has these labels{p.whole ? '' : ' and points on the days of this time'}. Nothing would be deleted.</p>;
  return (
    <section class="panel" aria-label="Series that are named">
      <header>
        <h2>{formatCount(series)} series of {formatCount(metrics)} {metrics === 1 ? 'metric' : 'metrics'}</h2>
        {store >= series && <span class={series === store ? 'badge bad' : 'badge'}>{series === store ? 'every series of the store' : `of ${formatCount(store)} in the store`}</span>}
      </header>
      <ul class="plain-list">{examples.map((labels, i) => (
        <li key={i}><a href={exploreLink('promql', showLabels(labels))}><code><Text of={showLabels(labels)} /></code></a></li>
      ))}</ul>
      {series > examples.length && <p class="dim">and {formatCount(series - examples.length)} more.</p>}
    </section>
  );
}
