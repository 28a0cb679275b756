import {useEffect, useState} from 'preact/hooks';

/** CopyButton puts a text into the clipboard. */
export function CopyButton(p: {text: string; what?: string}) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), 2000);
    return () => clearTimeout(timer);
  }, [done]);
  return (
    <button class="copy" aria-label={p.what ? `Copy ${p.what}` : undefined} onClick={() => { void copy(p.text).then(setDone); }}>
      {done ? 'Copied' : 'Copy'}
    </button>
  );
}

/** Command is a text to be run or pasted elsewhere. */
export function Command(p: {text: string; what: string}) {
  return (
    <div class="command">
      <pre tabIndex={0} role="group" aria-label={p.what}>{p.text}</pre>
      <CopyButton text={p.text} what={p.what} />
    </div>
  );
}

/** copy reports whether the text is in the clipboard. Without TLS browsers offer the old way alone. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement('textarea');
    box.value = text;
    (document.querySelector('dialog[open]') ?? document.body).append(box);
    box.select();
    const done = document.execCommand('copy');
    box.remove();
    return done;
  }
}
