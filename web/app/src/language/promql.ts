import {autocompletion} from '@codemirror/autocomplete';
import {PromQLExtension} from '@prometheus-io/codemirror-promql';
import {urlOf} from '../lib/http.ts';
import {stepFor} from '../lib/time.ts';
import type {Language} from './language.ts';
import {ask} from './reader.ts';

export const promql: Language = {
  id: 'promql',
  title: 'PromQL',
  hint: 'sum by (job) (rate(http_requests_total[5m]))',

  ask(text, range, resolution, signal) {
    const step = resolution.step ?? stepFor(range, resolution.points);
    const start = Math.floor(range.start / 1000 / step) * step;
    const end = Math.max(start, Math.floor(range.end / 1000));
    return ask('api/v1/query_range', {query: text, start, end, step}, {language: 'promql', start, end, step}, signal);
  },

  editing() {
    const language = new PromQLExtension()
      .setComplete({remote: {url: '', apiPrefix: 'api/v1', fetchFn: relative, cache: {maxAge: 60_000}}, maxMetricsMetadata: 5000})
      .asExtension();
    return [language, autocompletion()];
  },

  place(text, message) {
    const at = /(\d+):(\d+): parse error/.exec(message);
    if (!at) return undefined;
    const lines = text.split('\n');
    const before = lines.slice(0, Number(at[1]) - 1).reduce((n, l) => n + l.length + 1, 0);
    const from = Math.min(before + Number(at[2]) - 1, text.length);
    return {from, to: Math.min(from + 1, text.length)};
  },
};

/** relative asks below the path of the page: the library's paths begin with a slash. */
function relative(input: RequestInfo, init?: RequestInit): Promise<Response> {
  return fetch(urlOf(String(input).replace(/^\/+/, '')), {...init, credentials: 'same-origin'});
}
