import type {ComponentType} from 'preact';
import {useEffect} from 'preact/hooks';
import {Browse} from './browse/browse.tsx';
import {Delete} from './delete/delete.tsx';
import {Explore} from './explore/explore.tsx';
import {Guard} from './lib/guard.tsx';
import {fetchText} from './lib/http.ts';
import {useEvery, useRequest} from './lib/request.ts';
import {useRoute} from './lib/route.ts';
import {admin, whyReadOnly} from './lib/server.ts';
import {themes, useTheme} from './lib/theme.ts';
import {Metrics} from './metrics/metrics.tsx';
import {Migrate} from './migrate/migrate.tsx';
import {useRules} from './rules/groups.ts';
import {Rules} from './rules/rules.tsx';
import {Status} from './status/status.tsx';

interface Page {
  id: string;
  title: string;
  show: ComponentType<{params: URLSearchParams}>;
  /** under is the page that leads to this one, which has no link above. */
  under?: string;
}

const pages: Page[] = [
  {id: 'explore', title: 'Explore', show: Explore},
  {id: 'browse', title: 'Browse', show: Browse},
  {id: 'metrics', title: 'Metrics', show: Metrics},
  {id: 'status', title: 'Status', show: Status},
  {id: 'rules', title: 'Rules', show: Rules},
  {id: 'migrate', title: 'Migrate', show: Migrate},
  {id: 'delete', title: 'Delete series', show: Delete, under: 'metrics'},
];

/** Shell is what all pages share: the way to the others, and the colours. */
export function Shell() {
  const route = useRoute();
  const found = pages.find(p => p.id === route.page);
  const page = found ?? pages[0]!;
  const rules = useRules(useEvery(60));
  const shown = pages.filter(p => !p.under && (p.id !== 'rules' || p === page || (rules.answer?.length ?? 0) > 0));
  useEffect(() => { document.title = `${page.title} – tsdbridge`; }, [page]);
  return (
    <>
      <header class="top">
        <a class="skip" href={location.hash || '#/'} onClick={e => { e.preventDefault(); document.querySelector<HTMLElement>('main')?.focus(); }}>Skip to the content</a>
        <a class="brand" href="#/explore"><img src="assets/icon.svg" alt="" width="24" height="24" /> tsdbridge</a>
        <nav aria-label="Pages">
          {shown.map(p => <a key={p.id} href={`#/${p.id}`} {...(p === page ? {'aria-current': 'page' as const} : p.id === page.under ? {'aria-current': 'true' as const} : {})}>{p.title}</a>)}
        </nav>
        <a class="handbook" href="docs/">Handbook</a>
        {!admin() && <span class="badge" title={whyReadOnly}>read-only</span>}
        <Theme />
      </header>
      {page.id !== 'status' && <NotReady />}
      {!found && route.page !== '' && <p class="error" role="alert">There is no page "{route.page}". This is {page.title}.</p>}
      <main tabIndex={-1}><Guard key={page.id}><page.show params={route.params} /></Guard></main>
    </>
  );
}

/** NotReady tells on every page that the store cannot be asked, and why. */
function NotReady() {
  const ready = useRequest(signal => fetchText('-/ready', {}, {signal}), [], useEvery(10));
  if (ready.error === '') return null;
  return <p class="banner" role="alert">{ready.error} <a href="#/status">Status</a></p>;
}

/** Theme chooses light or dark; auto follows the system. */
function Theme() {
  const [theme, set] = useTheme();
  return (
    <span class="theme"><select aria-label="Colours" title="Colours" value={theme} onChange={e => set(e.currentTarget.value)}>
      {themes.map(t => <option key={t} value={t}>◐ {t}</option>)}
    </select></span>
  );
}
