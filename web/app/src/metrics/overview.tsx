import {formatBytes, formatCount} from '../lib/format.ts';
import {Guard} from '../lib/guard.tsx';
import {useEvery} from '../lib/request.ts';
import {Failed, Waiting} from '../lib/waiting.tsx';
import {FirstSteps} from '../start/firststeps.tsx';
import {isEmpty, useCardinality} from '../start/store.ts';
import {Counts} from './counts.tsx';
import {Growth} from './growth.tsx';
import {Silent} from './silent.tsx';

/** Overview tells what there is most of. */
export function Overview(p: {onPick(metric: string): void}) {
  const request = useCardinality(15, useEvery(30));
  const c = request.answer;
  if (request.error !== '') return <Failed error={request.error} />;
  if (!c) return <Waiting what="Counting" />;
  if (isEmpty(request)) return <div class="panel"><FirstSteps /></div>;
  return (
    <>
      <dl class="tiles">
        <div><dt>Series</dt><dd>{formatCount(c.headStats.numSeries)}</dd></div>
        <div><dt>Label pairs</dt><dd>{formatCount(c.headStats.numLabelPairs)}</dd></div>
        <div><dt>Open hours in memory</dt><dd>{formatCount(c.headStats.chunkCount)}</dd></div>
      </dl>
      <div class="columns">
        <Counts title="Series by metric" all={c.seriesCountByMetricName} onPick={p.onPick} />
        <Counts title="Series by label and value" all={c.seriesCountByLabelValuePair.filter(v => !v.name.startsWith('__name__='))} />
        <div>
          <Counts title="Values by label" all={c.labelValueCountByLabelName} />
          <Counts title="Memory by label" all={c.memoryInBytesByLabelName} format={formatBytes} />
        </div>
      </div>
      <Guard><Growth onPick={p.onPick} /></Guard>
      <Guard><Silent onPick={p.onPick} /></Guard>
    </>
  );
}
