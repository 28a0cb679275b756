import {useEffect, useRef, useState} from 'preact/hooks';
import uPlot from 'uplot';
import {align, type Series} from '../lib/frame.ts';
import {formatNumber} from '../lib/format.ts';
import {formatTime, move, widen, type Instants} from '../lib/time.ts';
import {colourOf} from './colours.ts';
import type {Nulls} from './state.ts';

interface Props {
  series: Series[];
  /** shown tells for each series whether its line is drawn. */
  shown: boolean[];
  /** range is the width of the picture, whatever the points cover. */
  range: Instants;
  utc: boolean;
  stack: boolean;
  log: boolean;
  nulls: Nulls;
  label: string;
  onRange(range: Instants): void;
  /** onPick is called when the line nearest to the pointer is clicked. */
  onPick(index: number): void;
}

/** Hover is what the box beside the pointer tells. */
interface Hover {
  left: number;
  top: number;
  time: number;
  /** near are the series nearest to the pointer, the nearest first. */
  near: {index: number; value: number}[];
}

const mostNear = 8;

/** Chart draws lines on a canvas. Drag: zoom in; Shift and drag: move; double click: zoom out; arrow keys and + - too. */
export function Chart(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(p);
  latest.current = p;
  const [hover, setHover] = useState<Hover>();

  useEffect(() => {
    const element = box.current!;
    const data = dataOf(p);
    const plot = new uPlot(optionsOf(latest, data, element, setHover), data.plotted, element);
    listen(plot, latest, setHover);
    const resized = new ResizeObserver(() => plot.setSize(sizeOf(element)));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
      setHover(undefined);
    };
  }, [p.series, p.shown, p.range.start, p.range.end, p.utc, p.stack, p.log, p.nulls]);

  const keys = (e: KeyboardEvent) => {
    const to = {
      ArrowLeft: () => move(p.range, -0.25), ArrowRight: () => move(p.range, 0.25), '-': () => widen(p.range),
      '+': () => ({start: p.range.start + (p.range.end - p.range.start) / 4, end: p.range.end - (p.range.end - p.range.start) / 4}),
    }[e.key];
    if (!to) return;
    e.preventDefault();
    p.onRange(to());
  };
  return (
    <div class="chart" ref={box} tabIndex={0} role="img" aria-label={p.label} onKeyDown={keys} onMouseLeave={() => setHover(undefined)}>
      {hover && <Near {...hover} series={p.series} utc={p.utc} wide={box.current?.clientWidth ?? 0} />}
    </div>
  );
}

function Near(p: Hover & {series: Series[]; utc: boolean; wide: number}) {
  const place = p.left > p.wide / 2 ? {right: `${p.wide - p.left + 14}px`} : {left: `${p.left + 14}px`};
  return (
    <div class="near" style={{...place, top: `${p.top}px`}}>
      <div class="near-time">{formatTime(p.time, p.utc)}</div>
      {p.near.map((n, i) => (
        <div class={i === 0 ? 'near-row nearest' : 'near-row'} key={n.index}>
          <i class="swatch" style={{background: colourOf(n.index)}} />
          <span class="near-name">{p.series[n.index]?.name}</span>
          <b>{formatNumber(n.value)}</b>
        </div>
      ))}
    </div>
  );
}

interface Plotted {
  plotted: uPlot.AlignedData;
  /** values are those before stacking, by series. */
  values: (number | null | undefined)[][];
}

/** dataOf returns the columns that are drawn: those of hidden series are empty. */
function dataOf(p: Props): Plotted {
  const {times, rows} = align(p.series);
  const finite = rows.map((row, i) => p.shown[i]
    ? row.map(v => (v === null || (v !== undefined && !Number.isFinite(v))) ? (p.nulls === 'zero' ? 0 : null) : v)
    : row.map(() => null));
  const columns = p.stack ? stacked(finite, p.shown) : finite;
  return {plotted: [times.map(t => t / 1000), ...columns] as uPlot.AlignedData, values: finite};
}

/** stacked adds up the rows, the first at the bottom. A missing value counts as nothing, unless all are missing. */
function stacked(rows: (number | null | undefined)[][], shown: boolean[]): (number | null | undefined)[][] {
  const wide = rows[0]?.length ?? 0;
  const sum = new Float64Array(wide);
  const any = new Uint8Array(wide);
  rows.forEach((row, i) => { if (shown[i]) row.forEach((v, at) => { if (v !== null && v !== undefined) any[at] = 1; }); });
  return rows.map((row, i) => shown[i] ? row.map((v, at) => any[at] ? (sum[at]! += v ?? 0) : null) : row);
}

function sizeOf(box: HTMLElement): {width: number; height: number} {
  return {width: Math.max(box.clientWidth, 200), height: Math.max(box.clientHeight, 160)};
}

function optionsOf(latest: {current: Props}, data: Plotted, box: HTMLElement, setHover: (h?: Hover) => void): uPlot.Options {
  const p = latest.current;
  const look = getComputedStyle(box);
  const ink = look.getPropertyValue('--dim').trim();
  const grid = {stroke: look.getPropertyValue('--grid').trim(), width: 1};
  const axis = {stroke: ink, grid, ticks: grid, font: '12px system-ui, sans-serif'};
  const order = p.series.map((_, i) => i).filter(i => p.shown[i]);
  const many = p.series.length > 60;
  return {
    ...sizeOf(box),
    legend: {show: false},
    cursor: {drag: {x: true, y: false, setScale: false}, points: {show: false}, y: false},
    scales: {
      x: {time: true, range: [p.range.start / 1000, p.range.end / 1000]},
      y: p.log ? {distr: 3, range: logRange} : {range: (_, min, max) => linearRange(min, max, p.stack)},
    },
    tzDate: ts => p.utc ? uPlot.tzDate(new Date(ts * 1000), 'Etc/UTC') : new Date(ts * 1000),
    axes: [{...axis, values: (_, ticks, __, ___, incr) => timeTicks(ticks, incr, p.utc)}, {...axis, size: 62, values: (_, ticks) => ticks.map(v => v === null ? '' : formatNumber(v))}],
    series: [{}, ...p.series.map((_, i): uPlot.Series => ({
      stroke: colourOf(i),
      width: many ? 1 : 1.5,
      show: p.shown[i] ?? true,
      spanGaps: p.nulls === 'connect',
      points: many ? {show: false} : {size: 4},
      ...(p.stack ? {fill: i === order[0] ? translucent(colourOf(i)) : 'transparent'} : {}),
    }))],
    bands: p.stack ? order.slice(1).map((i, at) => ({series: [i + 1, order[at]! + 1], fill: translucent(colourOf(i))})) : [],
    hooks: {
      setCursor: [plot => setHover(hoverAt(plot, latest.current, data))],
      setSelect: [plot => {
        const start = plot.posToVal(plot.select.left, 'x') * 1000;
        const end = plot.posToVal(plot.select.left + plot.select.width, 'x') * 1000;
        plot.setSelect({left: 0, top: 0, width: 0, height: 0}, false);
        if (end - start >= 10) latest.current.onRange({start: Math.round(start), end: Math.round(end)});
      }],
    },
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

function translucent(colour: string): string {
  return `color-mix(in srgb, ${colour} 35%, transparent)`;
}

/** linearRange leaves a little space above and below, and shows zero if it is near or if areas are stacked on it. */
function linearRange(min: number | null, max: number | null, stack: boolean): [number, number] {
  if (min === null || max === null || !Number.isFinite(min) || !Number.isFinite(max)) return [0, 1];
  if (stack || (min > 0 && min < (max - min) * 0.4)) min = Math.min(min, 0);
  if (min === max) return min === 0 ? [-1, 1] : [min - Math.abs(min) * 0.1, max + Math.abs(max) * 0.1];
  const space = (max - min) * 0.05;
  return [min === 0 ? 0 : min - space, max === 0 ? 0 : max + space];
}

function logRange(_: uPlot, min: number | null, max: number | null): [number, number] {
  if (min === null || max === null || max <= 0) return [0.1, 10];
  return uPlot.rangeLog(min > 0 ? min : max / 1e6, max, 10, true) as [number, number];
}

/** hoverAt finds the series whose lines are nearest to the pointer. */
function hoverAt(plot: uPlot, p: Props, data: Plotted): Hover | undefined {
  const {idx, left = -1, top = -1} = plot.cursor;
  if (idx === null || idx === undefined || left < 0) return undefined;
  const near: {index: number; value: number; distance: number}[] = [];
  for (let i = 0; i < p.series.length; i++) {
    const value = data.values[i]![idx];
    const drawn = data.plotted[i + 1]![idx];
    if (value === null || value === undefined || drawn === null || drawn === undefined || !p.shown[i]) continue;
    const distance = Math.abs(plot.valToPos(drawn, 'y') - top);
    if (near.length < mostNear || distance < near[near.length - 1]!.distance) {
      near.push({index: i, value, distance});
      near.sort((a, b) => a.distance - b.distance);
      near.length = Math.min(near.length, mostNear);
    }
  }
  return {left: left + plot.over.offsetLeft, top: plot.over.offsetTop + 8, time: plot.data[0][idx]! * 1000, near};
}

/** listen adds what uPlot has not: moving with Shift, zooming out, picking a line. */
function listen(plot: uPlot, latest: {current: Props}, setHover: (h?: Hover) => void): void {
  let from: {x: number; at: Instants} | undefined;
  let moved = 0;
  plot.over.addEventListener('mousedown', e => {
    moved = e.clientX;
    if (!e.shiftKey) return;
    from = {x: e.clientX, at: latest.current.range};
    e.stopImmediatePropagation();
  }, {capture: true});
  plot.over.addEventListener('mouseup', e => {
    if (from) {
      latest.current.onRange(move(from.at, (from.x - e.clientX) / plot.over.clientWidth));
      from = undefined;
    } else if (Math.abs(e.clientX - moved) < 3 && e.detail === 1) {
      const {idx, top = -1} = plot.cursor;
      if (idx !== null && idx !== undefined) pick(plot, latest.current, idx, top);
    }
  });
  plot.over.addEventListener('dblclick', () => { latest.current.onRange(widen(latest.current.range)); });
  plot.over.addEventListener('mouseleave', () => setHover(undefined));
}

function pick(plot: uPlot, p: Props, idx: number, top: number): void {
  let best = -1;
  let distance = 12; // pixels
  for (let i = 0; i < p.series.length; i++) {
    const v = plot.data[i + 1]![idx];
    if (v === null || v === undefined || !p.shown[i]) continue;
    const d = Math.abs(plot.valToPos(v, 'y') - top);
    if (d < distance) [best, distance] = [i, d];
  }
  if (best >= 0) p.onPick(best);
}
