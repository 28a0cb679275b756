// A query language: how its text is sent, edited and completed.

import type {Extension} from '@codemirror/state';
import type {Answer} from '../lib/frame.ts';
import type {Instants} from '../lib/time.ts';
import {graphite} from './graphite.ts';
import {opentsdb} from './opentsdb.ts';
import {promql} from './promql.ts';

export type LanguageID = 'promql' | 'graphite' | 'opentsdb';

/** Resolution says how many points are wanted: at most so many, or one every step seconds. */
export interface Resolution {
  points: number;
  step?: number;
}

export interface Language {
  id: LanguageID;
  title: string;
  /** hint is shown in an empty box. */
  hint: string;
  /** ask sends the query. */
  ask(text: string, range: Instants, resolution: Resolution, signal: AbortSignal): Promise<Answer>;
  /** editing returns completion and colours. */
  editing(): Extension;
  /** place returns where in the text an error message points, undefined if it does not tell. */
  place(text: string, message: string): {from: number; to: number} | undefined;
}

export const languages: Language[] = [promql, graphite, opentsdb];

export function languageOf(id: string): Language {
  return languages.find(l => l.id === id) ?? promql;
}
