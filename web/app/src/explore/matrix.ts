// The values of a graph as columns of numbers, ready to be drawn.

import {align, gap, pass, type Series} from '../lib/frame.ts';
import type {Nulls} from './state.ts';

/** Matrix has a row of values for each series, all at the same times. */
export interface Matrix {
  /** times are seconds. */
  times: number[];
  /** values are those of the series, rows those that are drawn: stacked ones are added up. */
  values: Float64Array[];
  rows: Float64Array[];
  /** low and high are the least and the largest of rows at each time, null where there is none. */
  low: (number | null)[];
  high: (number | null)[];
}

export interface MatrixOptions {
  shown: boolean[];
  stack: boolean;
  /** log leaves out what has no logarithm. */
  log: boolean;
  nulls: Nulls;
}

/** matrixOf lays out the series. Hidden ones are all gap. */
export function matrixOf(series: Series[], o: MatrixOptions): Matrix {
  const {times, rows: aligned} = align(series);
  const hidden = new Float64Array(times.length).fill(gap);
  const values = aligned.map((row, i) => o.shown[i] ? drawn(row, o) : hidden);
  const rows = o.stack ? stacked(values, o.shown) : values;
  return {times: times.map(t => t / 1000), values, rows, ...envelope(rows, times.length)};
}

/** drawn returns a row as it is drawn. Mostly it is as it came, and is shared. */
function drawn(row: Float64Array, o: MatrixOptions): Float64Array {
  if (o.nulls === 'gap' && !o.log) return row;
  const missing = o.nulls === 'zero' ? 0 : o.nulls === 'connect' ? pass : gap;
  return row.map(v => v === pass ? pass : v !== v ? missing : o.log && v <= 0 ? gap : v);
}

/** stacked adds up the rows, the first at the bottom. A missing value counts as nothing, unless all are missing. */
function stacked(values: Float64Array[], shown: boolean[]): Float64Array[] {
  const wide = values[0]?.length ?? 0;
  const sum = new Float64Array(wide);
  const any = new Uint8Array(wide);
  for (const row of values) for (let at = 0; at < wide; at++) if (Number.isFinite(row[at]!)) any[at] = 1;
  return values.map((row, i) => {
    const out = new Float64Array(wide).fill(gap);
    if (!shown[i]) return out;
    for (let at = 0; at < wide; at++) {
      if (any[at]) out[at] = sum[at]! += Number.isFinite(row[at]!) ? row[at]! : 0;
    }
    return out;
  });
}

function envelope(rows: Float64Array[], wide: number): {low: (number | null)[]; high: (number | null)[]} {
  const low = new Float64Array(wide).fill(Infinity);
  const high = new Float64Array(wide).fill(-Infinity);
  for (const row of rows) {
    for (let at = 0; at < wide; at++) {
      const v = row[at]!;
      if (v < low[at]!) low[at] = v;
      if (v > high[at]! && v !== pass) high[at] = v;
    }
  }
  const none = (v: number) => Number.isFinite(v) ? v : null;
  return {low: Array.from(low, none), high: Array.from(high, none)};
}

/** nearest is a series near the pointer. */
export interface Near {
  index: number;
  value: number;
  /** distance is in pixels. */
  distance: number;
}

/** nearestTo returns at most so many series whose lines are nearest to a height, the nearest first. */
export function nearestTo(m: Matrix, at: number, top: number, y: (v: number) => number, most: number): Near[] {
  const near: Near[] = [];
  for (let index = 0; index < m.rows.length; index++) {
    const drawn = m.rows[index]![at]!;
    if (!Number.isFinite(drawn)) continue;
    const value = m.values[index]![at]!;
    const distance = Math.abs(y(drawn) - top);
    if (near.length === most && distance >= near[most - 1]!.distance) continue;
    near.push({index, value: Number.isFinite(value) ? value : 0, distance});
    near.sort((a, b) => a.distance - b.distance);
    near.length = Math.min(near.length, most);
  }
  return near;
}
