// What all three languages answer, in one form.

/** Series is a line of a graph. Times are milliseconds, ascending; a value that is missing is null. */
export interface Series {
  /** name is what the legend shows. */
  name: string;
  /** subject names the stored series, as /api/v1/status/trees/test takes it; '' for computed ones. */
  subject: string;
  labels: Record<string, string>;
  times: number[];
  values: (number | null)[];
  summary: Summary;
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
    if (min === null || v < min) min = v;
    if (max === null || v > max) max = v;
    sum += v;
    points++;
  }
  return {last, min, max, mean: points > 0 ? sum / points : null, points};
}

/** align returns the times of all series, and the values of each at these. */
export function align(series: Series[]): {times: number[]; rows: (number | null | undefined)[][]} {
  const first = series[0];
  if (!first) return {times: [], rows: []};
  if (series.every(s => sameTimes(s.times, first.times))) return {times: first.times, rows: series.map(s => s.values)};
  const all = new Set<number>();
  for (const s of series) for (const t of s.times) all.add(t);
  const times = [...all].sort((a, b) => a - b);
  const at = new Map(times.map((t, i) => [t, i]));
  const rows = series.map(s => {
    const row = new Array<number | null | undefined>(times.length); // undefined: another series has a point there
    s.times.forEach((t, i) => { row[at.get(t)!] = s.values[i]!; });
    return row;
  });
  return {times, rows};
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
