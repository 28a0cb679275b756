import {useEffect, useMemo, useRef, useState} from 'preact/hooks';
import type uPlot from 'uplot';
import type {Series} from '../lib/frame.ts';
import {useDark} from '../lib/theme.ts';
import {move, widen, type Instants} from '../lib/time.ts';
import {HoverTable, mostNear, type Hovered} from './hover.tsx';
import {matrixOf, nearestTo} from './matrix.ts';
import {mark, Painter} from './painter.ts';
import {plotOf, sceneOf, sizeOf} from './plot.ts';
import {listen} from './pointer.ts';
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

const pickedWithin = 12; // pixels

/** Chart draws lines on a canvas. Drag: zoom in; Shift and drag: move; double click: zoom out; arrow keys and + - too. */
export function Chart(p: Props) {
  const box = useRef<HTMLDivElement>(null);
  const lines = useRef<HTMLCanvasElement>(null);
  const marked = useRef<HTMLCanvasElement>(null);
  const latest = useRef(p);
  latest.current = p;
  const scales = useRef('');
  const [hover, setHover] = useState<Hovered>();
  const dark = useDark();
  const matrix = useMemo(() => matrixOf(p.series, p), [p.series, p.shown, p.stack, p.log, p.nulls]);

  useEffect(() => {
    const element = box.current!;
    const painter = new Painter(lines.current!);
    let kept: [number, number] | undefined;
    const scene = (plot: uPlot) => sceneOf(plot, matrix, p.stack);
    const unhover = () => {
      setHover(undefined);
      if (marked.current) mark(marked.current, scene(plot), -1);
    };
    const draw = (plot: uPlot) => {
      if (!lines.current || kept) return; // uPlot draws a little later: the graph may be gone; one that is moved stays as it is
      place(plot, lines.current.parentElement!);
      const now = JSON.stringify([plot.scales['x'], plot.scales['y'], plot.width, plot.height]);
      painter.paint(scene(plot), now !== scales.current);
      scales.current = now;
    };
    const follow = (plot: uPlot) => {
      const {idx, left = -1, top = -1} = plot.cursor;
      if (idx === null || idx === undefined || left < 0 || kept || !marked.current) return unhover();
      const s = scene(plot);
      const near = nearestTo(matrix, idx, top, s.y, mostNear);
      mark(marked.current, s, p.stack ? -1 : near[0]?.index ?? -1);
      setHover(near.length === 0 ? undefined : {left: left + plot.over.offsetLeft, top: plot.over.offsetTop + 8, time: matrix.times[idx]! * 1000, near});
    };
    const plot = plotOf(element, {...p, matrix, onScene: draw, onCursor: follow, onSelect: r => latest.current.onRange(r), keep: () => kept});
    listen(plot, {
      range: () => latest.current.range,
      onMove: pixels => {
        kept = pixels === 0 ? undefined : kept ?? [plot.scales['y']!.min!, plot.scales['y']!.max!];
        lines.current!.style.transform = `translateX(${pixels}px)`;
        const {start, end} = move(latest.current.range, -pixels / plot.over.clientWidth);
        plot.setScale('x', {min: start / 1000, max: end / 1000});
      },
      onRange: r => latest.current.onRange(r),
      onPick: (at, top) => {
        const [best] = nearestTo(matrix, at, top, scene(plot).y, 1);
        if (best && best.distance < pickedWithin) latest.current.onPick(best.index);
      },
      onLeave: unhover,
    });
    const resized = new ResizeObserver(() => {
      const to = sizeOf(element);
      if (to.width !== plot.width || to.height !== plot.height) plot.setSize(to);
    });
    resized.observe(element);
    return () => {
      resized.disconnect();
      painter.stop();
      plot.destroy();
      setHover(undefined);
    };
  }, [matrix, p.range.start, p.range.end, p.utc, dark]);

  const keys = (e: KeyboardEvent) => {
    const quarter = (p.range.end - p.range.start) / 4;
    const to = {
      ArrowLeft: () => move(p.range, -0.25), ArrowRight: () => move(p.range, 0.25), '-': () => widen(p.range),
      '+': () => ({start: p.range.start + quarter, end: p.range.end - quarter}),
    }[e.key];
    if (!to || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    p.onRange(to());
  };
  return (
    <div class="chart" tabIndex={0} role="img" aria-label={p.label} onKeyDown={keys}>
      <div class="axes" ref={box} />
      <div class="lines"><canvas ref={lines} /><canvas ref={marked} /></div>
      {hover && <HoverTable {...hover} series={p.series} utc={p.utc} wide={box.current?.clientWidth ?? 0} />}
    </div>
  );
}

/** place puts the lines where the plot has its area. */
function place(plot: uPlot, lines: HTMLElement): void {
  const {offsetLeft, offsetTop, clientWidth, clientHeight} = plot.over;
  Object.assign(lines.style, {left: `${offsetLeft}px`, top: `${offsetTop}px`, width: `${clientWidth}px`, height: `${clientHeight}px`});
}
