import type {LanguageID} from '../language/language.ts';
import {fetchData} from '../lib/http.ts';
import {formatBytes, formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import type {Instants} from '../lib/time.ts';
import {Failed, Waiting} from '../lib/waiting.tsx';
import {Operator, ReadOf, Ways, type Node, type Read, type Way} from './plan.tsx';
import {explainParams} from './question.ts';

interface Explained {
  path?: string;
  left?: string;
  why?: string;
  seconds: number;
  series: number;
  samples: number;
  memoryBytes: number;
  rows?: number;
  bytes?: number;
  ways?: Way[];
  plan?: Node;
  reads?: Read[];
  warnings?: string[];
  infos?: string[];
}

/** Explain evaluates a query and shows the tree of its parts, with what each has done and how its series were read. */
export function Explain(p: {language: LanguageID; text: string; range: Instants; turn: number}) {
  const request = useRequest(
    signal => fetchData<Explained>(`api/v1/status/explain?lang=${p.language}`, explainParams(p.language, p.text, p.range), {signal}),
    [p.language, p.text, p.range.start, p.range.end], p.turn,
  );
  const e = request.answer;
  if (request.error !== '') return <Failed error={request.error} />;
  if (!e) return <Waiting what="Evaluating" />;
  return (
    <div class="explain">
      <p>
        {pathOf(e)} in <b>{formatSeconds(e.seconds)}</b>: {formatCount(e.series)} series, {formatCount(e.samples)} values
        {e.memoryBytes > 0 && <>, {formatBytes(e.memoryBytes)} of memory</>}
        {e.bytes !== undefined && <>, <b>{formatBytes(e.bytes)}</b> read{e.rows !== undefined && ` in ${formatCount(e.rows)} rows`}</>}.
      </p>
      <Ways all={e.ways ?? []} />
      {[...e.warnings ?? [], ...e.infos ?? []].map((n, i) => <p class="note" key={i}>{n}</p>)}
      {e.plan && <ul class="tree"><Operator node={e.plan} reads={e.reads ?? []} /></ul>}
      {!e.plan && e.reads?.map((r, i) => <ReadOf key={i} read={r} />)}
    </div>
  );
}

function pathOf(e: Explained): string {
  if (e.path === undefined || e.path === '') return 'Evaluated';
  if (e.path === 'columns') return 'Evaluated over columns';
  const why = e.left || e.why;
  return `Evaluated by Prometheus' engine${why ? ` (${why})` : ''}`;
}
