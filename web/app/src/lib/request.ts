import {useEffect, useRef, useState} from 'preact/hooks';
import {isAbort, messageOf} from './http.ts';

/** Request is what became of a request: its last answer stays until the next one is there. */
export interface Request<T> {
  answer?: T;
  error: string;
  running: boolean;
  /** seconds is how long the last one took. */
  seconds: number;
}

/** useRequest asks whenever one of the keys changes, and gives up what it asked before. undefined asks nothing. */
export function useRequest<T>(ask: ((signal: AbortSignal) => Promise<T>) | undefined, keys: unknown[]): Request<T> {
  const [state, set] = useState<Request<T>>({error: '', running: ask !== undefined, seconds: 0});
  const current = useRef(0);
  useEffect(() => {
    const turn = ++current.current;
    if (!ask) {
      set({error: '', running: false, seconds: 0});
      return undefined;
    }
    const control = new AbortController();
    const begin = performance.now();
    const end = (result: Partial<Request<T>>) => {
      if (turn === current.current) set(s => ({...s, ...result, running: false, seconds: (performance.now() - begin) / 1000}));
    };
    set(s => ({...s, running: true}));
    ask(control.signal).then(answer => end({answer, error: ''}), e => { if (!isAbort(e)) end({error: messageOf(e)}); });
    return () => control.abort();
  }, keys);
  return state;
}

/** useEvery counts up every so many seconds while the page is visible; 0: never. */
export function useEvery(seconds: number): number {
  const [count, set] = useState(0);
  useEffect(() => {
    if (seconds <= 0) return undefined;
    const timer = setInterval(() => { if (!document.hidden) set(n => n + 1); }, seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return count;
}
