import {autocompletion, type CompletionContext, type CompletionResult} from '@codemirror/autocomplete';
import {StreamLanguage} from '@codemirror/language';
import {linesOf} from '../explore/question.ts';
import {fetchData, fetchJSON} from '../lib/http.ts';
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
  const [nodes, all] = await Promise.all([
    nodesBelow(word.text, dot).catch(() => new Map<string, boolean>()),
    dot === 0 ? functions() : Promise.resolve<Record<string, FunctionInfo>>({}),
  ]);
  const options = [
    ...[...nodes].slice(0, mostNodes).map(([name, leaf]) => ({
      label: name, type: leaf ? 'variable' : 'namespace', apply: leaf ? name : `${name}.`, boost: 1,
    })),
    ...Object.values(all).map(f => ({
      label: f.name, type: 'function', apply: `${f.name}(`, detail: signature(f), info: f.description,
    })),
  ];
  const whole = nodes.size < mostNodes; // else what is typed next is asked for
  return {from: word.from + dot, options, ...(whole ? {validFor: /^[^\s(),.'"]*$/} : {})};
}

/** mostNodes bounds what a completion asks for: a branch may have a million nodes. */
const mostNodes = 200;

/** nodesBelow returns the nodes that continue a path, and whether each is a leaf. Globs are found by Graphite's own search. */
async function nodesBelow(text: string, dot: number): Promise<Map<string, boolean>> {
  if (/[*?{}[\]]/.test(text)) {
    const found = await fetchJSON<Found>('metrics/find', {query: text + '*', format: 'completer'});
    return new Map(found.metrics.map(m => [m.name, m.is_leaf === '1']));
  }
  const path = text.slice(0, Math.max(dot - 1, 0));
  const found = await fetchData<{nodes: {path: string; branch: boolean}[]}>('api/v1/status/trees/browse', {path, search: text.slice(dot) + '*', limit: mostNodes});
  return new Map(found.nodes.map(n => [n.path.slice(dot), !n.branch]));
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
