import {autocompletion} from '@codemirror/autocomplete';
import {PromQLExtension} from '@prometheus-io/codemirror-promql';
import {fetchText} from '../lib/http.ts';
import {showLabels, type Series} from '../lib/frame.ts';
import {stepFor} from '../lib/time.ts';
import type {Language} from './language.ts';

interface Matrix {
  data: {resultType: string; result: {metric: Record<string, string>; values?: [number, string][]; histograms?: [number, {sum: string}][]}[]};
  warnings?: string[];
  infos?: string[];
}

export const promql: Language = {
  id: 'promql',
  title: 'PromQL',
  hint: 'sum by (job) (rate(http_requests_total[5m]))',

  async ask(text, range, resolution, signal) {
    const step = resolution.step ?? stepFor(range, resolution.points);
    const start = Math.floor(range.start / 1000 / step) * step;
    const end = Math.max(start, Math.floor(range.end / 1000));
    const raw = await fetchText('api/v1/query_range', {query: text, start, end, step}, {signal});
    const answer = JSON.parse(raw) as Matrix;
    const times: number[] = [];
    for (let t = start; t <= end + 1e-6; t += step) times.push(Math.round(t * 1000));
    const series = answer.data.result.map((r): Series => {
      const values = new Array<number | null>(times.length).fill(null);
      const put = (t: number, v: string) => { values[Math.round((t - start) / step)] = Number(v.replace('Inf', 'Infinity')); };
      for (const [t, v] of r.values ?? []) put(t, v);
      for (const [t, h] of r.histograms ?? []) put(t, h.sum);
      const name = showLabels(r.metric);
      return {name, subject: '__name__' in r.metric ? subjectOf(r.metric) : '', labels: r.metric, times, values};
    });
    const notes = [...(answer.warnings ?? []), ...(answer.infos ?? [])];
    if (answer.data.result.some(r => r.histograms)) notes.push('Of native histograms the sum is shown.');
    return {series, raw, notes};
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
  return fetch(String(input).replace(/^\/+/, ''), {...init, credentials: 'same-origin'});
}

/** subjectOf writes labels as name{…}, in which the name may be any text. */
function subjectOf(labels: Record<string, string>): string {
  const {__name__: name = '', ...rest} = labels;
  return name + showLabels(rest);
}

