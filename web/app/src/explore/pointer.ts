// What the pointer does to a graph beside what uPlot knows: moving with Shift, zooming out, picking a line.

import type uPlot from 'uplot';
import {move, widen, type Instants} from '../lib/time.ts';

export interface PointerActions {
  range(): Instants;
  /** onMove shifts the picture by so many pixels while the graph is moved; 0 ends it. */
  onMove(pixels: number): void;
  onRange(range: Instants): void;
  onPick(at: number, top: number): void;
  onLeave(): void;
}

/** listen adds the actions to a plot. */
export function listen(plot: uPlot, a: PointerActions): void {
  const over = plot.over;
  let pressed = 0;
  const drag = (from: number) => {
    const by = (e: MouseEvent) => e.clientX - from;
    const follow = (e: MouseEvent) => a.onMove(by(e));
    addEventListener('mousemove', follow);
    addEventListener('mouseup', e => {
      removeEventListener('mousemove', follow);
      a.onMove(0);
      if (by(e) !== 0) a.onRange(move(a.range(), -by(e) / over.clientWidth));
    }, {once: true});
  };
  over.addEventListener('mousedown', e => {
    pressed = e.clientX;
    if (!e.shiftKey || e.button !== 0) return;
    e.preventDefault();
    e.stopImmediatePropagation();
    drag(e.clientX);
  }, {capture: true});
  over.addEventListener('mouseup', e => {
    const {idx, top = -1} = plot.cursor;
    if (Math.abs(e.clientX - pressed) < 3 && e.detail === 1 && !e.shiftKey && idx !== null && idx !== undefined) a.onPick(idx, top);
  });
  over.addEventListener('dblclick', () => a.onRange(widen(a.range())));
  over.addEventListener('mouseleave', a.onLeave);
}
