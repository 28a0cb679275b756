import type {Answer, Series} from '../lib/frame.ts';
import {fetchBlob, Failure, urlOf, type Params} from '../lib/http.ts';
import {readAnswer, type Asked, type Read} from './answer.ts';

/** Part is a message of the worker: some series, or the end of the answer. */
export type Part = {id: number} & ({series: Series[]} | {notes: string[]} | {error: string});

interface Waiting {
  series: Series[];
  done(read: Read): void;
  failed(e: Error): void;
}

let worker: Worker | undefined;
let last = 0;
const waiting = new Map<number, Waiting>();

/** ask sends a query and reads the answer. */
export async function ask(path: string, params: Params, asked: Asked, signal: AbortSignal): Promise<Answer> {
  const raw = await fetchBlob(path, params, {signal});
  return {...await read(asked, raw, signal), raw};
}

function read(asked: Asked, answer: Blob, signal: AbortSignal): Promise<Read> {
  return new Promise((done, failed) => {
    const id = ++last;
    waiting.set(id, {series: [], done, failed});
    signal.addEventListener('abort', () => {
      waiting.delete(id);
      failed(new DOMException('given up', 'AbortError'));
    });
    worker ??= start();
    worker.postMessage({id, asked, answer});
  }).catch((e: unknown) => {
    if (e !== noWorker) throw e;
    return answer.text().then(text => readAnswer(asked, text));
  }) as Promise<Read>;
}

const noWorker = new Error('there is no worker');

function start(): Worker {
  const w = new Worker(urlOf('assets/worker.js'), {type: 'module'});
  w.addEventListener('message', (e: MessageEvent<Part>) => take(e.data));
  w.addEventListener('error', () => {
    worker = undefined;
    for (const one of waiting.values()) one.failed(noWorker);
    waiting.clear();
  });
  return w;
}

function take(part: Part): void {
  const one = waiting.get(part.id);
  if (!one) return; // it was given up
  if ('series' in part) {
    one.series.push(...part.series);
    return;
  }
  waiting.delete(part.id);
  if ('error' in part) one.failed(new Failure(`The answer cannot be read: ${part.error}`, 200));
  else one.done({series: one.series, notes: part.notes});
}
