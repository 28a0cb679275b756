// How a query was evaluated: the tree of its parts, and how each part read its series.

import type {ComponentChildren} from 'preact';
import {formatBytes, formatCount, formatSeconds} from '../lib/format.ts';
import {Text} from '../lib/text.tsx';

export interface Node {
  id: number;
  operator: string;
  expression?: string;
  series: number;
  samples: number;
  seconds: number;
  bytes?: number;
  shared?: boolean;
  again?: boolean;
  notDone?: boolean;
  /** more are inputs that the server left out. */
  more?: number;
  inputs?: Node[];
  /** reads are indexes of the reads of the query. */
  reads?: number[];
}

/** Way is how rows were read, with how many were asked for and how many were there. */
export interface Way {
  way: string;
  asked: number;
  rows: number;
  bytes: number;
}

export interface Read {
  selector: string;
  series: number;
  samples: number;
  seconds: number;
  rows?: number;
  bytes?: number;
  ways?: Way[];
  plans?: {kind: string; metric: string; rows?: number; rowsOfMetric?: number; costMillis?: Record<string, number>}[];
}

const titles: Record<string, string> = {
  near: 'seeks to rows near each other', rows: 'rows by their keys', range: 'scan of the range', fuzzy: 'scan with a filter',
  regexp: 'scan with an expression on row keys', head: 'open hours in memory', archive: 'archive', rollup: 'rollup tables',
};

function wayTitle(way: string): string {
  return titles[way] ?? way;
}

/** mostInputs bounds how many parts of a node are drawn: a sum of 100 000 targets has as many. */
const mostInputs = 200;

/** Operator is a part of a query with the parts below it. */
export function Operator(p: {node: Node; reads: Read[]}) {
  const n = p.node;
  const inputs = n.inputs?.slice(0, mostInputs) ?? [];
  const left = (n.inputs?.length ?? 0) - inputs.length + (n.more ?? 0);
  return (
    <li>
      <Line title={n.operator} text={n.expression ?? ''}>
        {n.notDone ? <span>not evaluated</span> : n.again ? <span>as above</span> : (
          <Figures series={n.series} samples={n.samples} unit="values" seconds={n.seconds} bytes={n.bytes} />
        )}
        {n.shared && <span class="badge">shared</span>}
      </Line>
      {(inputs.length > 0 || left > 0 || n.reads) && (
        <ul>
          {inputs.map(i => <Operator key={i.id} node={i} reads={p.reads} />)}
          {left > 0 && <li class="dim">and {formatCount(left)} more</li>}
          {n.reads?.map(at => p.reads[at] && <li key={`r${at}`}><ReadOf read={p.reads[at]!} /></li>)}
        </ul>
      )}
    </li>
  );
}

/** ReadOf is a read of series, and how it was done. */
export function ReadOf(p: {read: Read}) {
  const r = p.read;
  return (
    <>
      <Line title="read" text={r.selector}><Figures series={r.series} samples={r.samples} unit="samples" seconds={r.seconds} bytes={r.bytes} /></Line>
      <Ways all={r.ways ?? []} />
      {r.plans?.map((w, i) => (
        <p class="read-way" key={i}>
          {w.metric}: {wayTitle(w.kind)}, {formatCount(w.rows ?? 0)} of {formatCount(w.rowsOfMetric ?? 0)} rows
          {w.costMillis && `; estimated: ${Object.entries(w.costMillis).map(([k, ms]) => `${wayTitle(k)} ${formatSeconds(ms / 1000)}`).join(', ')}`}
        </p>
      ))}
    </>
  );
}

/** Ways tells how many rows were read by which way. */
export function Ways(p: {all: Way[]}) {
  if (p.all.length === 0) return null;
  return <p class="read-way">{p.all.map(w => `${wayTitle(w.way)}: ${formatCount(w.rows)} of ${formatCount(w.asked)} rows, ${formatBytes(w.bytes)}`).join(' · ')}</p>;
}

function Figures(p: {series: number; samples: number; unit: string; seconds: number; bytes: number | undefined}) {
  return (
    <>
      <span>{formatCount(p.series)} series</span>
      <span>{formatCount(p.samples)} {p.unit}</span>
      {p.bytes !== undefined && <span>{formatBytes(p.bytes)}</span>}
      <span>{formatSeconds(p.seconds)}</span>
    </>
  );
}

function Line(p: {title: string; text: string; children: ComponentChildren}) {
  return <div class="node"><b>{p.title}</b> {p.text !== '' && <code><Text of={p.text} /></code>} <span class="figures">{p.children}</span></div>;
}
