// What /metrics told, twice: the figures of now, and what has grown between the two.

import {useEffect, useRef, useState} from 'preact/hooks';
import {fetchText, messageOf} from '../lib/http.ts';
import {formatBytes, formatCount, formatNumber, formatSeconds} from '../lib/format.ts';
import {Scrape} from './exposition.ts';

export interface Scrapes {
  now: Scrape | undefined;
  before: Scrape | undefined;
  error: string;
}

/** useScrapes keeps the last two scrapes. A slow server is not asked while it has not answered. */
export function useScrapes(turn: number): Scrapes {
  const [last, set] = useState<Scrapes>({now: undefined, before: undefined, error: ''});
  const [early, setEarly] = useState(0);
  const asking = useRef(false);
  const soon = useRef(false);
  useEffect(() => {
    if (asking.current) return;
    asking.current = true;
    fetchText('metrics').then(text => {
      set(s => ({now: new Scrape(text), before: s.now, error: ''}));
      if (!soon.current) { // the first rates come after a second
        soon.current = true;
        setTimeout(() => setEarly(1), 1000);
      }
    }, e => set(s => ({...s, error: messageOf(e)}))).finally(() => { asking.current = false; });
  }, [turn, early]);
  return last;
}

export function bytes(s: Scrape, name: string): string {
  const v = s.sum(name);
  return v === undefined ? '' : formatBytes(v);
}

export function count(s: Scrape, name: string): string {
  const v = s.sum(name);
  return v === undefined ? '' : formatCount(v);
}

export function seconds(s: Scrape, name: string): string {
  const v = s.sum(name);
  return v === undefined ? '' : formatSeconds(v);
}

/** perSecond is how much a counter grew between two scrapes. */
export function perSecond(now: Scrape, before: Scrape | undefined, name: string, labels: Record<string, string> = {}): number | undefined {
  const a = now.sum(name, labels);
  const b = before?.sum(name, labels);
  return a === undefined || b === undefined || !before ? undefined : Math.max(0, a - b) / ((now.at - before.at) / 1000);
}

export function rate(now: Scrape, before: Scrape | undefined, name: string): string {
  const v = perSecond(now, before, name);
  return v === undefined ? '…' : `${formatNumber(v)}/s`;
}

export function mean(now: Scrape, before: Scrape | undefined, name: string): string {
  const n = (now.sum(`${name}_count`) ?? 0) - (before?.sum(`${name}_count`) ?? 0);
  const s = (now.sum(`${name}_sum`) ?? 0) - (before?.sum(`${name}_sum`) ?? 0);
  return n > 0 ? formatSeconds(s / n) : '–';
}

/** share writes a part of all in per cent. */
export function share(v: number): string {
  return v > 0 && v < 1e-4 ? 'below 0.01 %' : `${formatNumber(v * 100)} %`;
}

export function ratio(s: Scrape, hits: string, misses: string): string {
  const h = s.sum(hits) ?? 0;
  const m = s.sum(misses) ?? 0;
  return h + m === 0 ? '–' : share(h / (h + m));
}
