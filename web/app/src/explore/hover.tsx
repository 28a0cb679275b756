import type {Series} from '../lib/frame.ts';
import {formatNumber} from '../lib/format.ts';
import {visible} from '../lib/visible.ts';
import {formatTime} from '../lib/time.ts';
import {colourOf} from './colours.ts';
import type {Near} from './matrix.ts';

/** mostNear bounds the rows of the box. */
export const mostNear = 10;

export interface Hovered {
  left: number;
  top: number;
  time: number;
  /** near are the series nearest to the pointer, the nearest first. */
  near: Near[];
}

/** HoverTable shows the values beside the pointer, the largest first; the nearest one is bold. */
export function HoverTable(p: Hovered & {series: Series[]; utc: boolean; wide: number}) {
  const place = p.left > p.wide / 2 ? {right: `${p.wide - p.left + 14}px`} : {left: `${p.left + 14}px`};
  const rows = p.near.toSorted((a, b) => b.value - a.value);
  const more = p.series.length - rows.length;
  return (
    <div class="near" style={{...place, top: `${p.top}px`}}>
      <div class="near-time">{formatTime(p.time, p.utc)}</div>
      {rows.map(n => (
        <div class={n === p.near[0] ? 'near-row nearest' : 'near-row'} key={n.index}>
          <i class="swatch" style={{background: colourOf(n.index)}} />
          <bdi class="near-name">{visible(p.series[n.index]?.name.slice(0, 300) ?? '')}</bdi>
          <b>{formatNumber(n.value)}</b>
        </div>
      ))}
      {more > 0 && rows.length === mostNear && <div class="near-time">and {more} more</div>}
    </div>
  );
}
