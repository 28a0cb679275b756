import {useEvery, useRequest} from '../lib/request.ts';
import type {Language, LanguageID} from '../language/language.ts';
import {targetOf} from '../language/target.ts';
import {showLabels} from '../lib/frame.ts';
import {fetchData} from '../lib/http.ts';
import {FirstSteps} from '../start/firststeps.tsx';
import {isEmpty, useCardinality} from '../start/store.ts';

const most = 8;

/** Examples stands in an empty panel: queries of what the store has, or how to send the first point. */
export function Examples(p: {language: Language; onUse(text: string): void}) {
  const counted = useCardinality(most, useEvery(15));
  const metrics = counted.answer?.seriesCountByMetricName.map(c => c.name) ?? [];
  const graphite = p.language.id === 'graphite';
  const found = useRequest(graphite ? signal => fetchData<{nodes: {path: string; branch: boolean}[]}>('api/v1/status/trees/browse', {path: '', deep: 1, limit: 5 * most}, {signal}) : undefined, [graphite]);
  const leaves = found.answer?.nodes.filter(n => !n.branch).map(n => n.path).slice(0, most) ?? [];
  const names = graphite ? leaves : metrics;
  if (isEmpty(counted)) return <FirstSteps />;
  return (
    <div class="dim">
      <p>Write a query, for example <code>{p.language.hint}</code>, and press Enter. Ctrl+Space completes.</p>
      {names.length > 0 && (
        <>
          <p>Or begin with what is there:</p>
          <ul class="examples">{names.map(n => <li key={n}><button class="small" title={n} onClick={() => p.onUse(exampleOf(p.language.id, n))}><bdi>{n}</bdi></button></li>)}</ul>
        </>
      )}
    </div>
  );
}

function exampleOf(language: LanguageID, name: string): string {
  switch (language) {
    case 'promql': return showLabels({__name__: name});
    case 'opentsdb': return `none:${name}`;
    default: return targetOf(name);
  }
}
