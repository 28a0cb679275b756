// What the three APIs answer, as series. Nothing here needs the page: it runs in the reader's worker.

import {seriesOf, shareTimes, showLabels, type Series} from '../lib/frame.ts';

/** Asked tells how to read an answer: its language, and for PromQL the steps (in seconds) that were asked for. */
export type Asked = {language: 'graphite' | 'opentsdb'} | {language: 'promql'; start: number; end: number; step: number};

export interface Read {
  series: Series[];
  notes: string[];
}

/** readAnswer reads the JSON of an answer. */
export function readAnswer(asked: Asked, text: string): Read {
  switch (asked.language) {
    case 'promql': return readMatrix(asked.start, asked.end, asked.step, JSON.parse(text) as Matrix);
    case 'graphite': return {series: shareTimes((JSON.parse(text) as Rendered[]).map(readRendered)), notes: []};
    default: return {series: shareTimes((JSON.parse(text) as Group[]).map(readGroup)), notes: []};
  }
}

interface Matrix {
  data: {resultType: string; result: {metric: Record<string, string>; values?: [number, string][]; histograms?: [number, {sum: string}][]}[]};
  warnings?: string[];
  infos?: string[];
}

function readMatrix(start: number, end: number, step: number, answer: Matrix): Read {
  const times: number[] = [];
  for (let t = start; t <= end + 1e-6; t += step) times.push(Math.round(t * 1000));
  const series = answer.data.result.map((r): Series => {
    const values = new Array<number | null>(times.length).fill(null);
    const put = (t: number, v: string) => { values[Math.round((t - start) / step)] = Number(v.replace('Inf', 'Infinity')); };
    for (const [t, v] of r.values ?? []) put(t, v);
    for (const [t, h] of r.histograms ?? []) put(t, h.sum);
    return seriesOf({name: showLabels(r.metric), subject: '__name__' in r.metric ? labelsSubject(r.metric) : '', labels: r.metric}, times, values);
  });
  const notes = [...(answer.warnings ?? []), ...(answer.infos ?? [])];
  if (answer.data.result.some(r => r.histograms)) notes.push('Of native histograms the sum is shown.');
  return {series, notes};
}

/** labelsSubject writes labels as name{…}, in which the name may be any text. */
function labelsSubject(labels: Record<string, string>): string {
  const {__name__: name = '', ...rest} = labels;
  return name + showLabels(rest);
}

interface Rendered {
  target: string;
  tags?: Record<string, string>;
  datapoints: [number | null, number][];
}

function readRendered(r: Rendered): Series {
  const head = {name: r.target, subject: renderedSubject(r), labels: r.tags ?? {}};
  return seriesOf(head, r.datapoints.map(p => p[1] * 1000), r.datapoints.map(p => p[0]));
}

/** renderedSubject returns the path of the series behind an answer, '' if it was computed from several. */
function renderedSubject(r: Rendered): string {
  const {name = '', aggregatedBy, ...tags} = r.tags ?? {};
  if (name === '' || aggregatedBy !== undefined || /[\s(),*]/.test(name)) return '';
  const {summarize: _, summarizeFunction: __, ...own} = tags;
  return [name, ...Object.entries(own).map(([k, v]) => `${k}=${v}`)].join(';');
}

interface Group {
  metric: string;
  tags: Record<string, string>;
  aggregateTags: string[];
  tsuids?: string[];
  dps: [number, number | string | null][];
}

function readGroup(g: Group): Series {
  const values = g.dps.map(p => typeof p[1] === 'number' ? p[1] : p[1] === null ? null : Number(p[1]));
  const head = {name: groupTitle(g), subject: g.tsuids?.length === 1 ? g.tsuids[0]! : '', labels: {__name__: g.metric, ...g.tags}};
  return seriesOf(head, g.dps.map(p => p[0]), values);
}

function groupTitle(g: Group): string {
  const tags = Object.entries(g.tags).map(([k, v]) => `${k}=${v}`).join(',');
  const over = g.aggregateTags.length > 0 ? ` over ${g.aggregateTags.join(', ')}` : '';
  return `${g.metric}{${tags}}${over}`;
}
