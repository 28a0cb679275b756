// Draws the lines of a graph. Many lines are drawn in slices, so that the page answers to the pointer meanwhile.

import {colourOf} from './colours.ts';
import {pass} from '../lib/frame.ts';
import type {Matrix} from './matrix.ts';

/** Scene is what is drawn, and where. */
export interface Scene {
  matrix: Matrix;
  stack: boolean;
  /** The area in pixels of the page, and how many dots a pixel has. */
  width: number;
  height: number;
  dots: number;
  x(seconds: number): number;
  y(value: number): number;
}

/** manyLines are drawn thin and without dots for single points. */
const manyLines = 60;

/** wantedFrame is how long a frame may take, in milliseconds. */
const wantedFrame = 24;

/** showEvery is how often a picture that grows is shown, in milliseconds. */
const showEvery = 120;

/** Painter draws on a canvas. What it shows stays until the next picture is done, unless the scales have changed. */
export class Painter {
  private readonly front: HTMLCanvasElement;
  private readonly back = document.createElement('canvas');
  private frame = 0;

  constructor(front: HTMLCanvasElement) {
    this.front = front;
  }

  /** paint draws a scene. fresh: what is shown now is of other scales, and is of no use. */
  paint(s: Scene, fresh: boolean): void {
    this.stop();
    const pen = fit(this.back, s);
    const xs = Float32Array.from(s.matrix.times, t => s.x(t));
    let next = 0;
    let below: Float64Array | undefined;
    let budget = 12_000; // points in a slice
    let last = 0;
    let shown = 0;
    const slice = (now: number) => {
      if (last > 0) budget = now - last > wantedFrame ? Math.max(budget / 2, 3_000) : Math.min(budget * 1.3, 400_000);
      last = now;
      for (let points = 0; next < s.matrix.rows.length && points < budget; next++, points += xs.length) {
        const row = s.matrix.rows[next]!;
        if (!row.some(Number.isFinite)) continue;
        if (s.stack) area(pen, s, xs, row, below, next);
        line(pen, s, xs, row, next, s.matrix.rows.length > manyLines ? 1 : 1.5);
        below = row;
      }
      const done = next >= s.matrix.rows.length;
      if (done || (fresh && now - shown > showEvery)) {
        this.show(s);
        shown = now;
      }
      if (!done) this.frame = requestAnimationFrame(slice);
    };
    slice(0);
  }

  /** stop gives up a picture that is not done. */
  stop(): void {
    cancelAnimationFrame(this.frame);
  }

  private show(s: Scene): void {
    const pen = fit(this.front, s);
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.drawImage(this.back, 0, 0);
  }
}

/** mark draws one line alone, above the others; an index below 0 draws none. */
export function mark(canvas: HTMLCanvasElement, s: Scene, index: number): void {
  const pen = fit(canvas, s);
  const row = s.matrix.rows[index];
  if (row) line(pen, s, Float32Array.from(s.matrix.times, t => s.x(t)), row, index, 3);
}

/** fit gives a canvas the size of a scene and empties it. */
function fit(canvas: HTMLCanvasElement, s: Scene): CanvasRenderingContext2D {
  const [width, height] = [Math.round(s.width * s.dots), Math.round(s.height * s.dots)];
  const pen = canvas.getContext('2d')!;
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  pen.setTransform(1, 0, 0, 1, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.scale(s.dots, s.dots);
  pen.lineJoin = 'round';
  return pen;
}

function line(pen: CanvasRenderingContext2D, s: Scene, xs: Float32Array, row: Float64Array, index: number, width: number): void {
  pen.strokeStyle = colourOf(index);
  pen.fillStyle = pen.strokeStyle;
  pen.lineWidth = width;
  pen.beginPath();
  if (xs.length > 4 * s.width) dense(pen, s, xs, row);
  else sparse(pen, s, xs, row, s.matrix.rows.length <= manyLines);
  pen.stroke();
}

/** sparse draws from point to point; a point without neighbours is a dot. */
function sparse(pen: CanvasRenderingContext2D, s: Scene, xs: Float32Array, row: Float64Array, dots: boolean): void {
  const size = dots ? 4 : 2;
  let length = 0; // of the line so far, in points
  let [px, py] = [0, 0];
  const end = () => { if (length === 1) pen.fillRect(px - size / 2, py - size / 2, size, size); };
  for (let i = 0; i < xs.length; i++) {
    const v = row[i]!;
    if (v === pass) continue;
    if (v !== v) {
      end();
      length = 0;
      continue;
    }
    [px, py] = [xs[i]!, s.y(v)];
    if (length === 0) pen.moveTo(px, py); else pen.lineTo(px, py);
    length++;
  }
  end();
}

/** dense draws, for each column of pixels, the least and the largest value: more cannot be seen. */
function dense(pen: CanvasRenderingContext2D, s: Scene, xs: Float32Array, row: Float64Array): void {
  let down = false;
  for (let i = 0; i < xs.length;) {
    const column = Math.floor(xs[i]!);
    let [low, high, broken] = [Infinity, -Infinity, false];
    for (; i < xs.length && Math.floor(xs[i]!) === column; i++) {
      const v = row[i]!;
      if (v === pass) continue;
      if (v !== v) broken = true;
      else [low, high] = [Math.min(low, v), Math.max(high, v)];
    }
    if (low > high) {
      down = down && !broken;
      continue;
    }
    if (down) pen.lineTo(column, s.y(low)); else pen.moveTo(column, s.y(low));
    pen.lineTo(column, s.y(high) - (low === high ? 0.5 : 0));
    down = true;
  }
}

/** area fills from a row down to the one below it, or to the bottom. */
function area(pen: CanvasRenderingContext2D, s: Scene, xs: Float32Array, row: Float64Array, below: Float64Array | undefined, index: number): void {
  pen.fillStyle = colourOf(index);
  pen.globalAlpha = 0.35;
  for (let from = 0; from < xs.length;) {
    let to = from;
    while (to < xs.length && Number.isFinite(row[to]!)) to++;
    if (to > from) {
      pen.beginPath();
      for (let i = from; i < to; i++) pen.lineTo(xs[i]!, s.y(row[i]!));
      for (let i = to - 1; i >= from; i--) pen.lineTo(xs[i]!, below ? s.y(below[i]!) : s.y(0));
      pen.fill();
    }
    from = Math.max(to, from + 1);
  }
  pen.globalAlpha = 1;
}
