// What all three languages answer, in one form.

/** Series is a line of a graph. Times are milliseconds, ascending. */
export interface Series {
  /** name is what the legend shows. */
  name: string;
  /** subject names the stored series, as /api/v1/status/trees/test takes it; '' for computed ones. */
  subject: string;
  labels: Record<string, string>;
  times: number[];
  /** values are NaN where one is missing, or is NaN. */
  values: Float64Array;
  /** lastAt is the place of the newest point, -1 without any. */
  lastAt: number;
  summary: Summary;
}

/** seriesOf makes a series of points, in which null is none. */
export function seriesOf(head: Pick<Series, 'name' | 'subject' | 'labels'>, times: number[], points: (number | null)[]): Series {
  return {
    ...head, times, values: Float64Array.from(points, v => v ?? NaN), lastAt: points.findLastIndex(v => v !== null),
    summary: summarize({values: points}),
  };
}

/** shareTimes has series with the same times share them, so that they need no comparison later. */
export function shareTimes(series: Series[]): Series[] {
  let before: number[] = [];
  for (const s of series) {
    if (sameTimes(s.times, before)) s.times = before;
    else before = s.times;
  }
  return series;
}

/** Answer is what a query returned. */
export interface Answer {
  series: Series[];
  /** raw is the JSON as it came. */
  raw: Blob;
  /** notes are warnings and infos of the server. */
  notes: string[];
}

/** Summary is what the legend and the table tell of a series. */
export interface Summary {
  last: number | null;
  min: number | null;
  max: number | null;
  mean: number | null;
  points: number;
}

/** summarize goes over the values of a series once. */
export function summarize(s: {values: (number | null)[]}): Summary {
  let last: number | null = null;
  let min: number | null = null;
  let max: number | null = null;
  let sum = 0;
  let points = 0;
  for (const v of s.values) {
    if (v === null) continue;
    last = v;
    if (min === null || v < min || min !== min) min = v;
    if (max === null || v > max || max !== max) max = v;
    sum += v;
    points++;
  }
  return {last, min, max, mean: points > 0 ? sum / points : null, points};
}

/** Two values are not drawn: a gap ends the line, pass is where only other series have a point. */
export const gap = NaN;
export const pass = Infinity;

/** align returns the times of all series, and the values of each at these. */
export function align(series: Series[]): {times: number[]; rows: Float64Array[]} {
  const first = series[0];
  if (!first) return {times: [], rows: []};
  if (series.every(s => sameTimes(s.times, first.times))) return {times: first.times, rows: series.map(finite)};
  const all = new Set<number>();
  for (const s of series) for (const t of s.times) all.add(t);
  const times = [...all].sort((a, b) => a - b);
  const at = new Map(times.map((t, i) => [t, i]));
  const rows = series.map(s => {
    const row = new Float64Array(times.length).fill(pass);
    const values = finite(s);
    s.times.forEach((t, i) => { row[at.get(t)!] = values[i]!; });
    return row;
  });
  return {times, rows};
}

/** finite returns the values of a series, with gaps for infinite ones. */
function finite(s: Series): Float64Array {
  return s.summary.max === Infinity || s.summary.min === -Infinity ? s.values.map(v => Number.isFinite(v) ? v : gap) : s.values;
}

function sameTimes(a: number[], b: number[]): boolean {
  if (a === b) return true;
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}

/** showLabels writes labels as PromQL does: up{job="x"}. */
export function showLabels(labels: Record<string, string>): string {
  const {__name__: name = '', ...rest} = labels;
  const plain = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/;
  const parts = Object.entries(rest).map(([k, v]) => `${/^[a-zA-Z_][a-zA-Z0-9_]*$/.test(k) ? k : JSON.stringify(k)}=${JSON.stringify(v)}`);
  if (name !== '' && !plain.test(name)) parts.unshift(JSON.stringify(name));
  const shown = plain.test(name) ? name : '';
  return parts.length > 0 || shown === '' ? `${shown}{${parts.join(', ')}}` : shown;
}
