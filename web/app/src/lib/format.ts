// Numbers for people.

const large = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

/** formatNumber writes a value with at most four significant digits and a prefix of the metric system. */
export function formatNumber(v: number): string {
  if (!Number.isFinite(v)) return v > 0 ? '+Inf' : v < 0 ? '-Inf' : 'NaN';
  const size = Math.abs(v);
  if (size === 0) return '0';
  if (size >= 1e21 || size < 1e-4) return v.toExponential(3).replace(/\.?0+e/, 'e');
  if (size < 1000) return trim(v.toPrecision(4));
  let at = Math.floor(Math.log10(size) / 3);
  if (Number((size / 1000 ** at).toPrecision(4)) >= 1000) at++;
  return trim((v / 1000 ** at).toPrecision(4)) + large[at];
}

function trim(text: string): string {
  return text.includes('.') && !text.includes('e') ? text.replace(/\.?0+$/, '') : text;
}

/** formatBytes writes a number of bytes in KiB, MiB, …. */
export function formatBytes(n: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let at = 0;
  while (Math.abs(n) >= 1024 && at < units.length - 1) {
    n /= 1024;
    at++;
  }
  return `${trim(n.toPrecision(4))} ${units[at]}`;
}

/** formatCount writes a whole number with spaces between the thousands. */
export function formatCount(n: number): string {
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** formatSeconds writes a duration with a fitting unit. */
export function formatSeconds(s: number): string {
  if (s === 0) return '0 s';
  if (s < 1e-3) return `${trim((s * 1e6).toPrecision(3))} µs`;
  if (s < 1) return `${trim((s * 1e3).toPrecision(3))} ms`;
  return s < 120 ? `${trim(s.toPrecision(3))} s` : `${trim((s / 60).toPrecision(3))} min`;
}

/** formatAge writes how long something lasts in its two largest units: 3 d 4 h. */
export function formatAge(s: number): string {
  const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]] as const;
  const at = units.findIndex(([, size]) => s >= size);
  if (at < 0) return '0 s';
  const [unit, size] = units[at]!;
  const next = units[at + 1];
  const rest = next ? Math.floor((s % size) / next[1]) : 0;
  return `${Math.floor(s / size)} ${unit}${next && rest > 0 ? ` ${rest} ${next[0]}` : ''}`;
}
