import type {ComponentChildren} from 'preact';
import {useEffect, useRef} from 'preact/hooks';

/** Dialog is a box above the page. Escape closes it, and the focus returns to where it was. */
export function Dialog(p: {title: string; onClose(): void; children: ComponentChildren}) {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    box.current?.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog ref={box} aria-label={p.title} onClose={p.onClose} onClick={e => { if (e.target === box.current) p.onClose(); }}>
      <header><h2>{p.title}</h2><button onClick={p.onClose} aria-label="Close">✕</button></header>
      {p.children}
    </dialog>
  );
}
