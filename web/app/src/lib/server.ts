// What the server told with the page.

function meta(name: string): string {
  return document.querySelector<HTMLMetaElement>(`meta[name=tsdbridge-${name}]`)?.content ?? '';
}

/** admin reports whether the page may change something (--web.enable-admin-api). */
export function admin(): boolean {
  return meta('admin') === 'true';
}

export function version(): string {
  return meta('version');
}

/** whyReadOnly tells people why buttons are off. */
export const whyReadOnly = 'Start the adapter with --web.enable-admin-api to change something here.';

/** edits reports whether trees may be saved. */
export function edits(): boolean {
  return meta('edits') === 'true';
}

export const whyNoEdits = 'Saving needs --web.enable-admin-api and --opentsdb.allow-edits.';
