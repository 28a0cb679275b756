import {useEffect, useRef, useState} from 'preact/hooks';
import {fetchJSON, isAbort} from '../lib/http.ts';
import {formatNumber} from '../lib/format.ts';

const width = 120;
const height = 20;

/** Spark draws the last hours of a leaf, once it is visible. */
export function Spark(p: {target: string}) {
  const box = useRef<HTMLSpanElement>(null);
  const [points, setPoints] = useState<[number, number][]>();
  useEffect(() => {
    const control = new AbortController();
    let timer = 0;
    const seen = new IntersectionObserver(all => {
      clearTimeout(timer);
      if (all.at(-1)!.isIntersecting) timer = window.setTimeout(draw, 150); // what is scrolled past is not asked for
    });
    const draw = () => {
      seen.disconnect();
      fetchJSON<{datapoints: [number | null, number][]}[]>('render', {target: p.target, from: '-6h', maxDataPoints: width / 2, format: 'json'}, {signal: control.signal})
        .then(all => setPoints((all[0]?.datapoints ?? []).filter(d => d[0] !== null).map(d => [d[1], d[0]!])), e => { if (!isAbort(e)) setPoints([]); });
    };
    seen.observe(box.current!);
    return () => {
      clearTimeout(timer);
      seen.disconnect();
      control.abort();
    };
  }, [p.target]);
  const last = points?.at(-1);
  return (
    <span ref={box} class="spark">
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={last ? `Last value ${formatNumber(last[1])}` : 'No points in 6 hours'}>
        {points && points.length > 0 && <path d={pathOf(points)} />}
      </svg>
      <span class="number dim">{last ? formatNumber(last[1]) : points ? 'no points' : ''}</span>
    </span>
  );
}

function pathOf(points: [number, number][]): string {
  const values = points.map(p => p[1]);
  const [first, last] = [points[0]![0], points.at(-1)![0]];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return points.map(([t, v], i) => {
    const x = last === first ? width / 2 : ((t - first) / (last - first)) * width;
    const y = high === low ? height / 2 : height - 1 - ((v - low) / (high - low)) * (height - 2);
    return `${i === 0 ? 'M' : 'L'}${x.toFixed(1)} ${y.toFixed(1)}`;
  }).join('');
}
