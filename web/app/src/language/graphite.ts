import {autocompletion, type CompletionContext, type CompletionResult} from '@codemirror/autocomplete';
import {StreamLanguage} from '@codemirror/language';
import {linesOf} from '../explore/question.ts';
import {fetchJSON} from '../lib/http.ts';
import type {Language} from './language.ts';
import {ask} from './reader.ts';

export const graphite: Language = {
  id: 'graphite',
  title: 'Graphite',
  hint: 'aliasByNode(servers.*.cpu.user, 1)',

  ask(text, range, resolution, signal) {
    const params = {
      target: linesOf(text), from: Math.floor(range.start / 1000), until: Math.ceil(range.end / 1000), format: 'json',
      maxDataPoints: resolution.step ? Math.ceil((range.end - range.start) / 1000 / resolution.step) : resolution.points,
    };
    return ask('render', params, {language: 'graphite'}, signal);
  },

  editing: () => [grammar, autocompletion({override: [complete]})],

  place(text, message) {
    const named = /"([^"]+)"/.exec(message)?.[1];
    const from = named ? text.indexOf(named) : -1;
    return named && from >= 0 ? {from, to: from + named.length} : undefined;
  },
};

const grammar = StreamLanguage.define({
  name: 'graphite',
  token(stream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^'[^']*'?|^"[^"]*"?/)) return 'string';
    if (stream.match(/^-?\d+(\.\d+)?([eE][+-]?\d+)?(?=[\s,)]|$)/)) return 'number';
    if (stream.match(/^(true|false|True|False)\b/)) return 'bool';
    if (stream.match(/^[A-Za-z_]\w*(?=\s*\()/)) return 'keyword';
    if (stream.match(/^[A-Za-z_]\w*(?=\s*=)/)) return 'propertyName';
    if (stream.match(/^[^\s(),=]+/)) return 'variableName';
    stream.next();
    return 'punctuation';
  },
});

interface FunctionInfo {
  name: string;
  description: string;
  group: string;
  params: {name: string; type: string; required?: boolean}[];
}

let known: Promise<Record<string, FunctionInfo>> | undefined;

function functions(): Promise<Record<string, FunctionInfo>> {
  known ??= fetchJSON<Record<string, FunctionInfo>>('functions').catch(() => {
    known = undefined; // the next completion asks again
    return {};
  });
  return known;
}

interface Found {
  metrics: {path: string; name: string; is_leaf: string}[];
}

/** complete proposes functions and the nodes of paths. */
async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const tag = context.matchBefore(/seriesByTag\([^)]*['"][^'"=]*$/);
  if (tag) return completeTag(context);
  const word = context.matchBefore(/[^\s(),'"=]*/);
  if (!word || (word.text === '' && !context.explicit)) return null;
  const dot = word.text.lastIndexOf('.') + 1;
  const [found, all] = await Promise.all([
    fetchJSON<Found>('metrics/find', {query: word.text + '*', format: 'completer'}).catch((): Found => ({metrics: []})),
    dot === 0 ? functions() : Promise.resolve<Record<string, FunctionInfo>>({}),
  ]);
  const nodes = new Map(found.metrics.map(m => [m.name, m.is_leaf === '1']));
  const options = [
    ...[...nodes].slice(0, 500).map(([name, leaf]) => ({
      label: name, type: leaf ? 'variable' : 'namespace', apply: leaf ? name : `${name}.`, boost: 1,
    })),
    ...Object.values(all).map(f => ({
      label: f.name, type: 'function', apply: `${f.name}(`, detail: signature(f), info: f.description,
    })),
  ];
  return {from: word.from + dot, options, validFor: /^[^\s(),.'"]*$/};
}

function signature(f: FunctionInfo): string {
  return `(${f.params.map(p => p.required ? p.name : `[${p.name}]`).join(', ')})`;
}

async function completeTag(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[^'"]*/);
  if (!word) return null;
  const tags = await fetchJSON<string[]>('tags/autoComplete/tags', {tagPrefix: word.text, limit: 100}).catch(() => []);
  return {from: word.from, options: tags.map(label => ({label, type: 'property', apply: `${label}=`}))};
}
