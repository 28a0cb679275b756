// Rules that are tried on series before they are saved.

import {Failure, fetchData} from '../lib/http.ts';

export interface Placed {
  name: string;
  path: string;
  outcome: string;
  unmatched?: string;
  seriesOnPath: number;
  messages: string[];
}

/** longestTried is how many bytes a name may have to be tried: the server bounds each, and the request of 50. */
const longestTried = 4096;

/** canBeTried reports whether the server tries a name of this length. */
export function canBeTried(name: string): boolean {
  return new TextEncoder().encode(name).length <= longestTried;
}

const patience = 10;
const pause = 400;

/** tryRules asks where rules would place series. The server tries one at a time: the one before may just be ending. */
export async function tryRules(body: string, signal: AbortSignal): Promise<Placed[]> {
  for (let left = patience; ; left--) {
    try {
      return await fetchData<Placed[]>('api/v1/status/trees/try', {}, {signal, method: 'POST', body});
    } catch (e) {
      if (left === 0 || !(e instanceof Failure) || e.status !== 503) throw e;
    }
    await new Promise(done => setTimeout(done, pause));
    signal.throwIfAborted();
  }
}
