import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {CopyButton} from '../lib/copy.tsx';
import {Dialog} from '../lib/dialog.tsx';
import {visible} from '../lib/visible.ts';
import {Failed, Waiting} from '../lib/waiting.tsx';
import {targetOf} from '../language/target.ts';
import type {LanguageID} from '../language/language.ts';

export interface Routing {
  name: string;
  labels: string;
  path: string;
  series: string;
  tsuid: string;
  trees: {
    treeId: number; name: string; enabled: boolean; outcome: string; path: string; unmatched?: string;
    seriesOnPath: number; sharedWith?: string[]; messages: string[];
  }[];
}

interface Props {
  /** subject is a label set, a dotted name or a TSUID. */
  subject: string;
  onClose(): void;
  onUse(language: LanguageID, text: string): void;
}

/** Names shows the names that one series has in the three languages, and its places in trees. */
export function Names(p: Props) {
  const request = useRequest(signal => fetchData<Routing>('api/v1/status/trees/test', {name: p.subject}, {signal}), [p.subject]);
  const r = request.answer;
  return (
    <Dialog title="One series, three names" onClose={p.onClose}>
      <Failed error={request.error} />
      {!r && request.error === '' && <Waiting what="Looking" />}
      {r && (
        <>
          <dl class="names">
            <Name title="PromQL" text={r.labels} onUse={() => p.onUse('promql', r.labels)} />
            <Name title="Graphite" text={r.path} onUse={() => p.onUse('graphite', targetOf(r.path))} />
            {r.trees.filter(t => t.enabled && t.path !== '' && t.path !== r.path).map(t => (
              <Name key={t.treeId} title={`Graphite, tree ${t.name}`} text={t.path} onUse={() => p.onUse('graphite', t.path)} />
            ))}
            <Name title="OpenTSDB" text={r.series} onUse={() => p.onUse('opentsdb', `none:${r.series}`)} />
            <Name title="TSUID" text={r.tsuid === '' ? 'none: there is no such series yet' : r.tsuid} />
          </dl>
          <h3>Trees</h3>
          {r.trees.map(t => (
            <details key={t.treeId}>
              <summary>{t.name} ({t.enabled ? 'enabled' : 'not enabled'}): {t.path === '' ? t.outcome : t.path}</summary>
              {t.unmatched && <p>{t.unmatched}</p>}
              {t.sharedWith && <p>Other series on this path: {t.sharedWith.join(', ')}</p>}
              <ol class="rules">{t.messages.map((m, i) => <li key={i}>{m}</li>)}</ol>
            </details>
          ))}
        </>
      )}
    </Dialog>
  );
}

function Name(p: {title: string; text: string; onUse?: () => void}) {
  return (
    <>
      <dt>{p.title}</dt>
      <dd>
        <code><bdi>{visible(p.text)}</bdi></code>
        <span class="buttons">
          <CopyButton text={p.text} />
          {p.onUse && <button class="small" onClick={p.onUse}>Query</button>}
        </span>
      </dd>
    </>
  );
}
