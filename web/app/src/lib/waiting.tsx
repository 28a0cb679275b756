import {useSeconds} from './request.ts';

/** Waiting stands where an answer will be. It tells how long the server has been asked once that is no longer usual. */
export function Waiting(p: {what?: string}) {
  const seconds = useSeconds();
  return (
    <p class="dim" role="status">
      {p.what ?? 'Asking'}… {seconds >= 3 && `${seconds} s`}
      {seconds >= 15 && ' The server has not answered yet: its store may be unreachable. Status tells more.'}
    </p>
  );
}

/** Failed shows an error in the server's words; nothing if there is none. */
export function Failed(p: {error: string}) {
  return p.error === '' ? null : <p class="error" role="alert">{p.error}</p>;
}
