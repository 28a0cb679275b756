/** Time chooses between all of time and a part of it. */
export function Time(p: {from: string; to: string; error: string; onChange(change: {from: string; to: string}): void}) {
  const part = p.from !== '' || p.to !== '';
  return (
    <div class="toolbar" role="radiogroup" aria-label="Time">
      <label><input type="radio" name="time" checked={!part} onChange={() => p.onChange({from: '', to: ''})} /> All of time: the series go as a whole</label>
      <label><input type="radio" name="time" checked={part} onChange={() => p.onChange({from: 'now-1d', to: 'now'})} /> Only points of a time</label>
      {part && (
        <>
          <label class="field">From <input type="text" size={18} value={p.from} placeholder="2026-01-31 12:00" aria-invalid={p.error !== ''}
            onChange={e => p.onChange({from: e.currentTarget.value.trim(), to: p.to})} /></label>
          <label class="field">To <input type="text" size={18} value={p.to} placeholder="now" aria-invalid={p.error !== ''}
            onChange={e => p.onChange({from: p.from, to: e.currentTarget.value.trim()})} /></label>
        </>
      )}
      {p.error !== '' && <p class="error" role="alert">{p.error}</p>}
    </div>
  );
}
