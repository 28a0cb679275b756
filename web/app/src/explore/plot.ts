// The axes, the pointer and the scales of a graph are uPlot's; the lines are drawn by Painter.

import uPlot from 'uplot';
import {formatNumber} from '../lib/format.ts';
import {formatTime, type Instants} from '../lib/time.ts';
import type {Matrix} from './matrix.ts';
import type {Scene} from './painter.ts';

export interface PlotOptions {
  matrix: Matrix;
  range: Instants;
  utc: boolean;
  stack: boolean;
  log: boolean;
  /** onScene is called when the lines are to be drawn. */
  onScene(plot: uPlot): void;
  /** onCursor is called when the pointer has moved. */
  onCursor(plot: uPlot): void;
  /** onSelect is called when a part was selected. */
  onSelect(range: Instants): void;
  /** keep returns the scale of values that stays while the graph is moved. */
  keep(): [number, number] | undefined;
}

/** plotOf puts a graph without lines into a box. Its two series are the bounds of all lines: they make the scales. */
export function plotOf(box: HTMLElement, o: PlotOptions): uPlot {
  const look = getComputedStyle(box);
  const grid = {stroke: look.getPropertyValue('--grid').trim(), width: 1};
  const axis = {stroke: look.getPropertyValue('--dim').trim(), grid, ticks: {...grid, size: 5}, font: '12px system-ui, sans-serif'};
  const bounds: uPlot.Series = {paths: () => null, points: {show: false}};
  const range = (_: uPlot, min: number | null, max: number | null): [number, number] => o.keep() ?? (o.log ? logRange(min, max) : linearRange(min, max, o.stack));
  return new uPlot({
    ...sizeOf(box),
    legend: {show: false},
    padding: [10, 20, 0, 0], // half of a time fits right of the last tick
    cursor: {drag: {x: true, y: false, setScale: false}, points: {show: false}, y: false},
    scales: {
      x: {time: true, auto: false, min: o.range.start / 1000, max: o.range.end / 1000},
      y: o.log ? {distr: 3, range} : {range},
    },
    tzDate: ts => o.utc ? uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') : new Date(ts * 1000),
    axes: [
      {...axis, values: (_, ticks, __, ___, incr) => timeTicks(ticks, incr, o.utc)},
      {...axis, size: 62, values: (_, ticks) => ticks.map(v => v === null ? '' : formatNumber(v))},
    ],
    series: [{}, bounds, bounds],
    hooks: {
      draw: [o.onScene],
      setCursor: [o.onCursor],
      setSelect: [plot => {
        const start = plot.posToVal(plot.select.left, 'x') * 1000;
        const end = plot.posToVal(plot.select.left + plot.select.width, 'x') * 1000;
        plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
        if (end - start >= 10) o.onSelect({start: Math.round(start), end: Math.round(end)});
      }],
    },
  }, [o.matrix.times, o.matrix.low, o.matrix.high] as uPlot.AlignedData, box);
}

export function sizeOf(box: HTMLElement): {width: number; height: number} {
  return {width: Math.max(box.clientWidth, 200), height: Math.max(box.clientHeight, 160)};
}

/** sceneOf returns where the lines of a plot are. */
export function sceneOf(plot: uPlot, matrix: Matrix, stack: boolean): Scene {
  const [width, height] = [plot.over.clientWidth, plot.over.clientHeight];
  const [left, right] = [plot.scales['x']!.min!, plot.scales['x']!.max!];
  const log = plot.scales['y']!.distr === 3;
  const on = log ? (v: number) => Math.log10(Math.max(v, 1e-300)) : (v: number) => v;
  const [low, high] = [on(plot.scales['y']!.min ?? 0), on(plot.scales['y']!.max ?? 1)];
  return {
    matrix, stack, width, height, dots: devicePixelRatio,
    x: t => ((t - left) / (right - left)) * width,
    y: v => Math.min(Math.max(1 - (on(v) - low) / (high - low), -4), 5) * height,
  };
}

/** timeTicks writes the times below the graph: the date where a day begins and at the first tick. */
function timeTicks(ticks: number[], incr: number, utc: boolean): string[] {
  let day = '';
  return ticks.map(t => {
    const [date, time] = formatTime(t * 1000, utc).split(' ') as [string, string];
    const short = incr >= 86400 ? '' : incr < 60 ? time : time.slice(0, 5);
    const text = date === day ? short : incr >= 86400 ? date : `${short}\n${date}`;
    day = date;
    return text;
  });
}

/** linearRange leaves a little space above and below, and shows zero if it is near or if areas are stacked on it. */
function linearRange(min: number | null, max: number | null, stack: boolean): [number, number] {
  if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return [0, 1];
  if (stack || (min > 0 && min < (max - min) * 0.4)) min = Math.min(min, 0);
  if (min === max) return min === 0 ? [-1, 1] : [min - Math.abs(min) * 0.1, max + Math.abs(max) * 0.1];
  const space = (max - min) * 0.05;
  return [min === 0 ? 0 : min - space, max === 0 ? 0 : max + space];
}

function logRange(min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || max <= 0) return [0.1, 10];
  return uPlot.rangeLog(min > 0 ? min : max / 1e6, max, 10, true) as [number, number];
}
