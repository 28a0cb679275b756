// What is to be deleted, as it stands in the URL.

import type {Params} from '../lib/http.ts';
import {resolve, type Instants} from '../lib/time.ts';

/** Selection is a selector of series, and a time; both ends empty: all of time. */
export interface Selection {
  match: string;
  from: string;
  to: string;
}

export function parseSelection(p: URLSearchParams): Selection {
  return {match: p.get('match') ?? '', from: p.get('from') ?? '', to: p.get('to') ?? ''};
}

export function formatSelection(s: Selection): URLSearchParams {
  const p = new URLSearchParams({match: s.match});
  if (s.from !== '' || s.to !== '') {
    p.set('from', s.from);
    p.set('to', s.to);
  }
  return p;
}

/** whole reports whether the series go, and not just their points of a time. */
export function whole(s: Selection): boolean {
  return s.from === '' && s.to === '';
}

/** instantsOf returns the time that is meant, undefined for all of it, or what is wrong with it. */
export function instantsOf(s: Selection, now: number): Instants | string | undefined {
  return whole(s) ? undefined : resolve(s, false, now);
}

/** paramsOf returns the parameters of the server's API, in which both ends belong to the time. */
export function paramsOf(match: string, time: Instants | undefined): Params {
  return {'match[]': match, start: time && seconds(time.start), end: time && seconds(time.end)};
}

function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

/** phraseFor is what is typed to confirm the deletion of so many series. */
export function phraseFor(series: number): string {
  return `delete ${series}`;
}

/** confirms reports whether a text is the phrase, however its spaces are. */
export function confirms(text: string, series: number): boolean {
  return text.trim().toLowerCase().replace(/\s+/g, ' ') === phraseFor(series);
}
