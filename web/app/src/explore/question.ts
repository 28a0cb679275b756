// The parameters of a query in each language, for what answers with a plan in place of points.

import type {LanguageID} from '../language/language.ts';
import type {Params} from '../lib/http.ts';
import {stepFor, type Instants} from '../lib/time.ts';

/** linesOf returns the lines of a text that ask something: targets, or sub queries with or without "m=". */
export function linesOf(text: string): string[] {
  return text.split('\n').map(l => l.trim()).filter(l => l !== '');
}

export function explainParams(language: LanguageID, text: string, range: Instants): Params {
  const [start, end] = [Math.floor(range.start / 1000), Math.ceil(range.end / 1000)];
  switch (language) {
    case 'graphite': return {target: linesOf(text), from: start, until: end};
    case 'opentsdb': return {m: linesOf(text).map(l => l.replace(/^m=/, '')), start: Math.floor(range.start), end: Math.ceil(range.end)};
    default: {
      const step = stepFor(range, 600);
      return {query: text, start: Math.floor(start / step) * step, end, step};
    }
  }
}
