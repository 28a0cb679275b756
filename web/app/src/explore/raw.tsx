import {useEffect, useState} from 'preact/hooks';
import {formatBytes} from '../lib/format.ts';

const most = 200_000; // bytes shown

/** Raw shows the answer as it came. */
export function Raw(p: {answer: Blob}) {
  const [text, setText] = useState('');
  useEffect(() => {
    let there = true;
    void p.answer.slice(0, most).text().then(t => { if (there) setText(p.answer.size > most ? t : indented(t)); });
    return () => { there = false; };
  }, [p.answer]);
  const save = () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(p.answer);
    link.download = 'answer.json';
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  return (
    <>
      <p class="dim">{formatBytes(p.answer.size)}{p.answer.size > most ? `, the first ${formatBytes(most)} of them shown` : ''}. <button class="small" onClick={save}>Download</button></p>
      <pre class="raw" tabIndex={0} role="group" aria-label="The answer">{text}</pre>
    </>
  );
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}
