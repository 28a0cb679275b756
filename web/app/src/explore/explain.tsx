import type {ComponentChildren} from 'preact';
import {fetchData} from '../lib/http.ts';
import {formatBytes, formatCount, formatSeconds} from '../lib/format.ts';
import {useRequest} from '../lib/request.ts';
import {stepFor, type Instants} from '../lib/time.ts';

interface Node {
  id: number;
  operator: string;
  expression: string;
  series: number;
  samples: number;
  seconds: number;
  inputs?: Node[];
  reads?: number[];
}

interface Way {
  kind: string;
  metric: string;
  rows?: number;
  rowsOfMetric?: number;
  reads?: number;
  costMillis?: Record<string, number>;
}

interface Read {
  selector: string;
  start: string;
  end: string;
  series: number;
  samples: number;
  seconds: number;
  bytes?: number;
  plans?: Way[];
}

interface Explained {
  path: string;
  why?: string;
  seconds: number;
  series: number;
  samples: number;
  memoryBytes: number;
  plan?: Node;
  reads?: Read[];
}

/** Explain evaluates a PromQL query and shows the tree of its operators with what each has done. */
export function Explain(p: {text: string; range: Instants; turn: number}) {
  const step = stepFor(p.range, 600);
  const start = Math.floor(p.range.start / 1000 / step) * step;
  const request = useRequest(
    signal => fetchData<Explained>('api/v1/status/explain', {query: p.text, start, end: Math.floor(p.range.end / 1000), step}, {signal}),
    [p.text, start, p.range.end, p.turn],
  );
  if (request.error !== '') return <p class="error" role="alert">{request.error}</p>;
  const e = request.answer;
  if (!e) return <p class="dim">Evaluating…</p>;
  return (
    <div class="explain">
      <p>
        {e.path === 'columns' ? 'Evaluated over columns' : `Evaluated by Prometheus' engine${e.why ? ` (${e.why})` : ''}`} in {formatSeconds(e.seconds)}:
        {' '}{formatCount(e.series)} series, {formatCount(e.samples)} values, {formatBytes(e.memoryBytes)} of memory.
      </p>
      {e.plan && <ul class="tree"><Operator node={e.plan} reads={e.reads ?? []} /></ul>}
      {!e.plan && e.reads?.map((r, i) => <ReadOf key={i} read={r} />)}
    </div>
  );
}

function Operator(p: {node: Node; reads: Read[]}) {
  const n = p.node;
  return (
    <li>
      <Line title={n.operator} text={n.expression}>{formatCount(n.series)} series · {formatCount(n.samples)} values · {formatSeconds(n.seconds)}</Line>
      {(n.inputs || n.reads) && (
        <ul>
          {n.inputs?.map(i => <Operator key={i.id} node={i} reads={p.reads} />)}
          {n.reads?.map(at => p.reads[at] && <li key={`r${at}`}><ReadOf read={p.reads[at]!} /></li>)}
        </ul>
      )}
    </li>
  );
}

function ReadOf(p: {read: Read}) {
  const r = p.read;
  return (
    <>
      <Line title="read" text={r.selector}>
        {formatCount(r.series)} series · {formatCount(r.samples)} samples{r.bytes ? ` · ${formatBytes(r.bytes)}` : ''} · {formatSeconds(r.seconds)}
      </Line>
      {r.plans?.map((w, i) => (
        <p class="dim" key={i}>
          {w.metric}: {ways[w.kind] ?? w.kind}, {formatCount(w.rows ?? 0)} of {formatCount(w.rowsOfMetric ?? 0)} rows
          {w.costMillis && `; estimated: ${Object.entries(w.costMillis).map(([k, ms]) => `${ways[k] ?? k} ${formatSeconds(ms / 1000)}`).join(', ')}`}
        </p>
      ))}
    </>
  );
}

const ways: Record<string, string> = {near: 'seeks to rows near each other', rows: 'rows by their keys', range: 'scan of the range', fuzzy: 'scan with a filter', regexp: 'scan with an expression on row keys'};

function Line(p: {title: string; text: string; children: ComponentChildren}) {
  return <div class="node"><b>{p.title}</b> <code>{p.text}</code> <span class="dim">{p.children}</span></div>;
}
