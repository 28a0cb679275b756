// The state of the page is in the part of the URL after #: a link shows the same to everybody.

import {useEffect, useState} from 'preact/hooks';

/** Route is a page and its parameters: #/explore?q0=up is {page: 'explore', params: q0=up}. */
export interface Route {
  page: string;
  params: URLSearchParams;
}

export function parseRoute(hash: string): Route {
  const text = hash.replace(/^#\/?/, '');
  const cut = text.indexOf('?');
  return cut < 0 ? {page: text, params: new URLSearchParams()} : {page: text.slice(0, cut), params: new URLSearchParams(text.slice(cut + 1))};
}

export function formatRoute(page: string, params: URLSearchParams): string {
  const query = params.toString();
  return query === '' ? `#/${page}` : `#/${page}?${query}`;
}

/** go shows a page; replace leaves no entry in the browser's history. */
export function go(page: string, params = new URLSearchParams(), replace = false): void {
  const hash = formatRoute(page, params);
  if (hash === location.hash) return;
  if (replace) {
    history.replaceState(null, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = hash;
  }
}

/** useRoute follows the URL. */
export function useRoute(): Route {
  const [route, set] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const follow = () => { set(parseRoute(location.hash)); };
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return route;
}
