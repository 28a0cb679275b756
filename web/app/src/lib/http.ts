// Requests to this server. All paths are relative, so that the page works below any path.

/** Failure is an answer that is an error, in the server's words. */
export class Failure extends Error {
  readonly status: number;
  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** Params are the parameters of a request; a list is a parameter that is repeated. */
export type Params = Record<string, string | number | string[] | undefined>;

/** encode returns parameters as a query string. */
export function encode(params: Params): string {
  const p = new URLSearchParams();
  for (const [key, value] of Object.entries(params)) {
    if (value === undefined) continue;
    for (const one of Array.isArray(value) ? value : [value]) p.append(key, String(one));
  }
  return p.toString();
}

/** Longer queries are sent as a form: servers bound the length of a URL. */
const longestURL = 4000;

/** urlOf returns the URL of a path below the page. That of the page may hold a password, with which nothing may be asked. */
export function urlOf(path: string): URL {
  return new URL(path, location.origin + location.pathname);
}

/** request sends a request and returns the answer, or fails with the words of the server. */
async function request(path: string, params: Params, init: RequestInit): Promise<Response> {
  const query = encode(params);
  const method = init.method ?? (query.length > longestURL ? 'POST' : 'GET');
  const inBody = method === 'POST' && init.body === undefined;
  const options: RequestInit = {credentials: 'same-origin', ...init, method};
  if (inBody) {
    options.body = query;
    options.headers = {'Content-Type': 'application/x-www-form-urlencoded', ...init.headers};
  }
  let answer: Response;
  try {
    answer = await fetch(urlOf(inBody || query === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${query}`), options);
  } catch (e) {
    throw isAbort(e) ? e : new Failure('The server does not answer. Is it running?', 0);
  }
  if (!answer.ok) throw new Failure(reason(await answer.text(), answer), answer.status);
  return answer;
}

/** body reads all of an answer. */
async function body<T>(read: Promise<T>): Promise<T> {
  try {
    return await read;
  } catch (e) {
    throw isAbort(e) ? e : new Failure('The server ended the answer before it was whole.', 0);
  }
}

/** fetchText returns the text of an answer. */
export async function fetchText(path: string, params: Params = {}, init: RequestInit = {}): Promise<string> {
  return body((await request(path, params, init)).text());
}

/** mostBytes is how large an answer may be: some million points. A larger one would take the browser's memory. */
const mostBytes = 64 << 20;

/** fetchBlob returns an answer without reading it, and keeps it as it comes. One that is too large is given up. */
export async function fetchBlob(path: string, params: Params = {}, init: RequestInit = {}): Promise<Blob> {
  const answer = await request(path, params, init);
  const tooLarge = new Failure(`The answer is larger than ${mostBytes >> 20} MiB, too much to draw. Ask for fewer series, a shorter time or a longer step.`, 200);
  let size = 0;
  const counted = answer.body!.pipeThrough(new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, to) {
      size += chunk.length;
      if (size > mostBytes) throw tooLarge;
      to.enqueue(chunk);
    },
  }));
  return body(new Response(counted).blob()).catch(e => { throw size > mostBytes ? tooLarge : e; });
}

/** fetchJSON returns the value of a JSON answer. */
export async function fetchJSON<T>(path: string, params: Params = {}, init: RequestInit = {}): Promise<T> {
  const text = await fetchText(path, params, init);
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new Failure(`${path}: the answer is not JSON: ${text.slice(0, 200)}`, 200);
  }
}

/** fetchData returns the data of an answer of the Prometheus API. */
export async function fetchData<T>(path: string, params: Params = {}, init: RequestInit = {}): Promise<T> {
  return (await fetchJSON<{data: T}>(path, params, init)).data;
}

/** reason finds the message in an error of any of the three APIs. */
function reason(text: string, answer: Response): string {
  try {
    const value = JSON.parse(text);
    const message = value.error?.message ?? value.error ?? value.errors;
    if (typeof message === 'string') return message;
    if (message !== undefined) return JSON.stringify(message);
  } catch {
    // the text is not JSON
  }
  return text.trim().slice(0, 2000) || `${answer.status} ${answer.statusText}`;
}

/** isAbort reports whether a request was given up by the page itself. */
export function isAbort(e: unknown): boolean {
  return (e as Error)?.name === 'AbortError';
}

/** messageOf returns the text of any failure. */
export function messageOf(e: unknown): string {
  return e instanceof Error ? e.message : String(e);
}

/** fetchIfThere is fetchData for what not every store has: undefined if the server does not know the path. */
export async function fetchIfThere<T>(path: string, params: Params = {}, init: RequestInit = {}): Promise<T | undefined> {
  try {
    return await fetchData<T>(path, params, init);
  } catch (e) {
    if (e instanceof Failure && e.status === 404) return undefined;
    throw e;
  }
}
