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

/**
 * useRequest asks whenever one of the keys changes, and gives up what it asked before. undefined asks nothing. It asks
 * again for each turn, unless the answer to the same question is still on its way: a slow server is not asked twice.
 */
export function useRequest<T>(ask: ((signal: AbortSignal) => Promise<T>) | undefined, keys: unknown[], turn = 0): Request<T> {
  const [state, set] = useState<Request<T>>({error: '', running: ask !== undefined, seconds: 0});
  const current = useRef<{control: AbortController; keys: unknown[]} | undefined>(undefined);
  useEffect(() => {
    if (current.current && sameKeys(current.current.keys, keys)) return;
    current.current?.control.abort();
    current.current = undefined;
    if (!ask) {
      set({error: '', running: false, seconds: 0});
      return;
    }
    const mine = {control: new AbortController(), keys};
    current.current = mine;
    const begin = performance.now();
    const end = (result: Partial<Request<T>>) => {
      if (mine !== current.current) return;
      current.current = undefined;
      set(s => ({...s, ...result, running: false, seconds: (performance.now() - begin) / 1000}));
    };
    set(s => ({...s, running: true}));
    ask(mine.control.signal).then(answer => end({answer, error: ''}), e => { if (!isAbort(e)) end({error: messageOf(e)}); });
  }, [...keys, turn]);
  useEffect(() => () => {
    current.current?.control.abort();
    current.current = undefined;
  }, []);
  return state;
}

function sameKeys(a: unknown[], b: unknown[]): boolean {
  return a.length === b.length && a.every((v, i) => Object.is(v, b[i]));
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

/** useSeconds counts the seconds since the component is shown. */
export function useSeconds(): number {
  const [seconds, set] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => set(n => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return seconds;
}
