import {autocompletion, type Completion, type CompletionContext, type CompletionResult} from '@codemirror/autocomplete';
import {StreamLanguage} from '@codemirror/language';
import {linesOf} from '../explore/question.ts';
import {fetchJSON} from '../lib/http.ts';
import type {Language} from './language.ts';
import {ask} from './reader.ts';

export const opentsdb: Language = {
  id: 'opentsdb',
  title: 'OpenTSDB',
  hint: 'sum:1m-avg:rate:http.requests{dc=*}',

  ask(text, range, _resolution, signal) {
    const m = linesOf(text).map(l => l.replace(/^m=/, ''));
    const params = {start: Math.floor(range.start), end: Math.ceil(range.end), m, ms: 'true', arrays: 'true', show_tsuids: 'true'};
    return ask('api/query', params, {language: 'opentsdb'}, signal);
  },

  editing: () => [grammar, autocompletion({override: [complete]})],

  place(text, message) {
    for (const [, named] of message.matchAll(/['"]([^'"]+)['"]|: ([\w./-]+)$/g)) {
      const from = named ? text.indexOf(named) : -1;
      if (named && from >= 0) return {from, to: from + named.length};
    }
    return undefined;
  },
};

const grammar = StreamLanguage.define({
  name: 'opentsdb',
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.sol() && stream.match(/^[A-Za-z0-9]+(?=:)/)) return 'keyword';
    if (stream.match(/^(rate|explicit_tags|percentiles|show-histogram-buckets)\b/)) return 'keyword';
    if (stream.match(/^\d+(ms|[smhdwny]|all)c?-[A-Za-z0-9]+(-[A-Za-z]+)?/)) return 'number';
    if (stream.match(/^[A-Za-z_]+(?=\()/)) return 'keyword';
    if (stream.match(/^[^\s{}=,:()|]+(?==)/)) return 'propertyName';
    if (stream.match(/^[^\s{}=,:()|]+/)) return 'variableName';
    stream.next();
    return 'punctuation';
  },
});

/** complete proposes aggregators, downsampling, metrics, tags and their values, by where the cursor stands. */
async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const line = context.state.doc.lineAt(context.pos);
  const before = line.text.slice(0, context.pos - line.from);
  const brace = before.lastIndexOf('{');
  if (brace > before.lastIndexOf('}')) return completeTags(context, before.slice(brace + 1));
  const word = context.matchBefore(/[^:\s]*/);
  if (!word || (word.text === '' && !context.explicit && !before.endsWith(':'))) return null;
  const options = before.includes(':') ? await afterAggregator(word.text) : await aggregators();
  return {from: word.from, options, validFor: before.includes(':') ? /^$/ : /^\w*$/};
}

async function aggregators(): Promise<Completion[]> {
  const names = await fetchJSON<string[]>('api/aggregators').catch(() => []);
  return names.map(label => ({label, type: 'function', apply: `${label}:`}));
}

async function afterAggregator(typed: string): Promise<Completion[]> {
  const metrics = await suggest('metrics', typed);
  const words = ['rate:', 'rate{counter}:', '1m-avg:', '1h-avg-none:', 'explicit_tags:'].filter(w => w.startsWith(typed));
  return [
    ...metrics.map(label => ({label, type: 'variable', boost: 1})),
    ...words.map(label => ({label, type: 'keyword'})),
  ];
}

async function completeTags(context: CompletionContext, inside: string): Promise<CompletionResult> {
  const pair = inside.slice(inside.lastIndexOf(',') + 1);
  const equals = pair.indexOf('=');
  const typed = equals < 0 ? pair : pair.slice(equals + 1).replace(/^.*[(|]/, '');
  const from = context.pos - typed.length;
  if (equals < 0) {
    const keys = await suggest('tagk', typed);
    return {from, options: keys.map(label => ({label, type: 'property', apply: `${label}=`}))};
  }
  const values = await suggest('tagv', typed);
  const filters = ['*', 'literal_or(', 'iliteral_or(', 'not_literal_or(', 'wildcard(', 'iwildcard(', 'regexp('].filter(f => f.startsWith(typed));
  return {from, options: [...values.map(label => ({label, type: 'constant', boost: 1})), ...filters.map(label => ({label, type: 'function'}))]};
}

function suggest(type: string, q: string): Promise<string[]> {
  return fetchJSON<string[]>('api/suggest', {type, q, max: 100}).catch(() => []);
}
