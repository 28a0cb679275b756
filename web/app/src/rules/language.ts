import type {LanguageID} from '../language/language.ts';

/** Expression is what a rule asks, in its language; window is how old values may be, '' if the rule does not tell. */
export interface Expression {
  language: LanguageID;
  window: string;
  text: string;
}

/** parseExpression reads the query of a rule as the server shows it: PromQL, or "graphite[10m]: TARGET". */
export function parseExpression(query: string): Expression {
  const m = /^(graphite|opentsdb)(?:\[([^\]]+)\])?: ([^]*)$/.exec(query);
  return m ? {language: m[1] as LanguageID, window: m[2] ?? '', text: m[3]!} : {language: 'promql', window: '', text: query};
}
