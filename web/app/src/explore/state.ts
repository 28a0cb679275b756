// What Explore shows, as it stands in the URL.

import type {LanguageID} from '../language/language.ts';
import type {Range} from '../lib/time.ts';

export type View = 'graph' | 'table' | 'raw' | 'explain';
export type Nulls = 'gap' | 'connect' | 'zero';

export interface Panel {
  language: LanguageID;
  text: string;
  view: View;
  stack: boolean;
  log: boolean;
  nulls: Nulls;
  /** step is a duration, '' for one that fits the width. */
  step: string;
}

export interface State {
  range: Range;
  utc: boolean;
  /** refresh is the seconds between two requests, 0: none. */
  refresh: number;
  panels: Panel[];
}

/** mostPanels bounds what a link can make the page ask for. */
export const mostPanels = 12;

export function newPanel(language: LanguageID = 'promql', text = ''): Panel {
  return {language, text, view: 'graph', stack: false, log: false, nulls: 'gap', step: ''};
}

export function parseState(p: URLSearchParams): State {
  const panels: Panel[] = [];
  for (let i = 0; i < mostPanels && p.has(`l${i}`); i++) {
    const flags = (p.get(`o${i}`) ?? '').split(',');
    panels.push({
      language: oneOf(p.get(`l${i}`), ['promql', 'graphite', 'opentsdb'], 'promql'),
      text: p.get(`q${i}`) ?? '',
      view: oneOf(p.get(`v${i}`), ['graph', 'table', 'raw', 'explain'], 'graph'),
      stack: flags.includes('stack'),
      log: flags.includes('log'),
      nulls: flags.includes('connect') ? 'connect' : flags.includes('zero') ? 'zero' : 'gap',
      step: p.get(`s${i}`) ?? '',
    });
  }
  const refresh = Number(p.get('refresh') ?? 0);
  return {
    range: {from: p.get('from') ?? 'now-1h', to: p.get('to') ?? 'now'},
    utc: p.get('tz') === 'utc',
    refresh: refresh > 0 ? Math.max(refresh, 1) : 0,
    panels: panels.length > 0 ? panels : [newPanel()],
  };
}

export function formatState(s: State): URLSearchParams {
  const p = new URLSearchParams({from: s.range.from, to: s.range.to});
  if (s.utc) p.set('tz', 'utc');
  if (s.refresh > 0) p.set('refresh', String(s.refresh));
  s.panels.forEach((panel, i) => {
    p.set(`l${i}`, panel.language);
    p.set(`q${i}`, panel.text);
    if (panel.view !== 'graph') p.set(`v${i}`, panel.view);
    const flags = [panel.stack && 'stack', panel.log && 'log', panel.nulls !== 'gap' && panel.nulls].filter(Boolean).join(',');
    if (flags !== '') p.set(`o${i}`, flags);
    if (panel.step !== '') p.set(`s${i}`, panel.step);
  });
  return p;
}

function oneOf<T extends string>(text: string | null, all: readonly T[], otherwise: T): T {
  return all.find(one => one === text) ?? otherwise;
}
