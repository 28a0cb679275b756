import {exploreLink} from '../explore/open.ts';
import {showLabels} from '../lib/frame.ts';
import {languageOf} from '../language/language.ts';
import {formatCount, formatNumber, formatSeconds} from '../lib/format.ts';
import {PageHead} from '../lib/head.tsx';
import {useEvery} from '../lib/request.ts';
import {Text} from '../lib/text.tsx';
import {formatTime} from '../lib/time.ts';
import {Failed, Waiting} from '../lib/waiting.tsx';
import {useLeases, useRules, type Alert, type Group, type Lease, type Rule} from './groups.ts';
import {parseExpression} from './language.ts';

/** Rules shows the groups of rules, how each went the last time, and the alerts that are pending or fire. */
export function Rules() {
  const turn = useEvery(10);
  const request = useRules(turn);
  const leases = useLeases(turn);
  const groups = request.answer;
  return (
    <>
      <PageHead title="Rules" text="Recording and alerting rules, and the alerts that are active." />
      <Failed error={request.error} />
      {!groups && request.error === '' && <Waiting what="Asking for the rules" />}
      {groups?.length === 0 && <p class="panel">There are no rules. <code>rule_files</code> in the configuration file names files of them; see <a href="docs/rules.html">the handbook</a>.</p>}
      {groups && groups.length > 0 && <Summary groups={groups} />}
      {groups?.map(g => <OneGroup key={`${g.file} ${g.name}`} group={g} lease={leases.find(l => l.file === g.file && l.group === g.name)} />)}
    </>
  );
}

/** Summary counts rules and alerts by their states. */
function Summary(p: {groups: Group[]}) {
  const rules = p.groups.flatMap(g => g.rules ?? []);
  const alerts = rules.flatMap(r => r.alerts ?? []);
  const failing = rules.filter(r => r.health === 'err').length;
  const firing = alerts.filter(a => a.state === 'firing').length;
  return (
    <dl class="tiles">
      <div><dt>Alerts firing</dt><dd class={firing > 0 ? 'bad' : ''}>{formatCount(firing)}</dd></div>
      <div><dt>Alerts pending</dt><dd>{formatCount(alerts.filter(a => a.state === 'pending').length)}</dd></div>
      <div><dt>Rules</dt><dd>{formatCount(rules.length)}<small>in {formatCount(p.groups.length)} {p.groups.length === 1 ? 'group' : 'groups'}</small></dd></div>
      <div><dt>Rules that fail</dt><dd class={failing > 0 ? 'bad' : ''}>{formatCount(failing)}</dd></div>
    </dl>
  );
}

function OneGroup(p: {group: Group; lease: Lease | undefined}) {
  const g = p.group;
  return (
    <section class="panel" aria-label={`Group ${g.name}`}>
      <header>
        <h2><Text of={g.name} /></h2>
        {p.lease && <Held lease={p.lease} />}
        <span class="dim end">each {formatSeconds(g.interval)}, last {timeOf(g.lastEvaluation)}, took {formatSeconds(g.evaluationTime)}; <code><Text of={g.file} /></code></span>
      </header>
      {(g.rules ?? []).map((r, i) => <OneRule key={i} rule={r} />)}
    </section>
  );
}

/** Held tells which adapter evaluates a group that several share. */
function Held(p: {lease: Lease}) {
  const l = p.lease;
  if (!l.known) return <span class="badge warn" title="The lease could not be read the last time.">lease not known</span>;
  return <span class="badge" title={`evaluated up to ${timeOf(l.evaluated)}`}>{l.held ? `evaluated here, lease until ${timeOf(l.until).slice(11)}` : 'evaluated by another adapter'}</span>;
}

const stateClass: Record<string, string> = {firing: 'bad', pending: 'warn', inactive: 'good'};

function OneRule(p: {rule: Rule}) {
  const r = p.rule;
  const alerts = r.alerts ?? [];
  const query = parseExpression(r.query);
  return (
    <div class="rule">
      <div class="toolbar">
        <b><Text of={r.name} /></b>
        {r.type === 'alerting' ? <span class={`badge ${stateClass[r.state ?? ''] ?? ''}`}>{r.state ?? 'unknown'}</span> : <span class="badge">recording</span>}
        {r.health !== 'ok' && <span class={r.health === 'err' ? 'badge bad' : 'badge warn'}>{r.health === 'err' ? 'fails' : 'not evaluated yet'}</span>}
        <span class="dim end">{(r.duration ?? 0) > 0 && `for ${formatSeconds(r.duration!)}, `}{(r.keepFiringFor ?? 0) > 0 && `kept firing for ${formatSeconds(r.keepFiringFor!)}, `}last {timeOf(r.lastEvaluation)}, took {formatSeconds(r.evaluationTime)}</span>
      </div>
      <p class="rule-query">
        {query.language !== 'promql' && <span class="badge">{languageOf(query.language).title}{query.window !== '' && `, values of ${query.window}`}</span>}
        <a href={exploreLink(query.language, query.text)}><code><Text of={query.text} /></code></a>
      </p>
      {r.lastError && <p class="error"><Text of={r.lastError} /></p>}
      {r.labels && Object.keys(r.labels).length > 0 && <p class="dim">Labels: <Text of={showLabels(r.labels)} /></p>}
      {alerts.length > 0 && <Alerts all={alerts} />}
    </div>
  );
}

/** mostAlerts bounds the alerts of a rule that are drawn. */
const mostAlerts = 500;

function Alerts(p: {all: Alert[]}) {
  return (
    <div class="scroll short" tabIndex={0} role="group" aria-label="Alerts"><table>
      <thead><tr><th>State</th><th>Labels</th><th>Annotations</th><th>Since</th><th class="number">Value</th></tr></thead>
      <tbody>{p.all.slice(0, mostAlerts).map((a, i) => (
        <tr key={i}>
          <td><span class={`badge ${stateClass[a.state] ?? ''}`}>{a.state}</span></td>
          <td class="name"><code><Text of={showLabels(a.labels)} /></code></td>
          <td class="name">{Object.entries(a.annotations ?? {}).map(([k, v]) => <div key={k}><Text of={`${k}: ${v}`} /></div>)}</td>
          <td class="time">{timeOf(a.activeAt ?? '')}</td><td class="number">{formatNumber(Number(a.value))}</td>
        </tr>
      ))}
      {p.all.length > mostAlerts && <tr><td colSpan={5}>and {p.all.length - mostAlerts} more</td></tr>}</tbody>
    </table></div>
  );
}

/** timeOf writes a time of the server; before the first evaluation it is that of the year 1. */
function timeOf(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) || at <= 0 ? 'never' : formatTime(at, false).slice(0, 19);
}
