import {useState} from 'preact/hooks';
import {fetchData} from '../lib/http.ts';
import {useRequest} from '../lib/request.ts';
import {Failed} from '../lib/waiting.tsx';

/** Flags shows the configuration as it is in effect: flags, whether they come from the command line or from a file. */
export function Flags() {
  const [text, setText] = useState('');
  const flags = useRequest(signal => fetchData<Record<string, string>>('api/v1/status/flags', {}, {signal}), []);
  const rows = Object.entries(flags.answer ?? {}).filter(([k, v]) => `--${k} ${v}`.includes(text));
  return (
    <section class="panel" aria-label="Configuration">
      <details>
        <summary><b>Configuration in effect</b> <span class="dim">{Object.keys(flags.answer ?? {}).length} flags, from the command line, the configuration file, or by default</span></summary>
        <Failed error={flags.error} />
        <p class="toolbar"><label class="field">Filter <input type="search" value={text} placeholder="part of a name or value" onInput={e => setText(e.currentTarget.value)} /></label></p>
        <table><tbody>{rows.map(([k, v]) => <tr key={k}><td><code>--{k}</code></td><td class="name">{v === '' ? <span class="dim">not set</span> : v}</td></tr>)}</tbody></table>
      </details>
    </section>
  );
}
