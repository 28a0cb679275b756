import {useMemo} from 'preact/hooks';

const most = 200_000; // characters shown

/** Raw shows the answer as it came. */
export function Raw(p: {text: string}) {
  const shown = useMemo(() => {
    if (p.text.length > most) return p.text.slice(0, most);
    try {
      return JSON.stringify(JSON.parse(p.text), null, 1);
    } catch {
      return p.text;
    }
  }, [p.text]);
  const save = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([p.text], {type: 'application/json'}));
    link.download = 'answer.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return (
    <div>
      <p class="dim">{p.text.length.toLocaleString()} characters{p.text.length > most ? `, the first ${most.toLocaleString()} of them shown` : ''}. <button onClick={save}>Download</button></p>
      <pre class="raw" tabIndex={0}>{shown}</pre>
    </div>
  );
}
