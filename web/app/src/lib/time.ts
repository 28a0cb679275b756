// Times of queries: "now", "now-6h", or milliseconds since 1970. Durations are as in Prometheus.

/** Range is what the person chose; resolve turns it into instants. */
export interface Range {
  from: string;
  to: string;
}

/** Instants are milliseconds since 1970. */
export interface Instants {
  start: number;
  end: number;
}

const units: Record<string, number> = {ms: 1, s: 1000, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3, y: 365 * 86400e3};

/** parseDuration returns the milliseconds of "1h30m", NaN if it is none. */
export function parseDuration(text: string): number {
  const parts = [...text.trim().matchAll(/(\d+(?:\.\d+)?)(ms|[smhdwy])/g)];
  if (parts.length === 0 || parts.map(p => p[0]).join('') !== text.trim()) return NaN;
  return parts.reduce((sum, p) => sum + Number(p[1]) * units[p[2]!]!, 0);
}

/** formatDuration writes milliseconds with the largest units that fit: 5400000 is 1h30m. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)}ms`;
  let text = '';
  for (const [unit, size] of [['d', 86400e3], ['h', 3600e3], ['m', 60e3], ['s', 1000]] as const) {
    const n = Math.floor(ms / size);
    if (n > 0) text += n + unit;
    ms -= n * size;
  }
  return text;
}

/** parseTime returns the instant of a text, NaN if it is none. utc says how to read dates without a zone. */
export function parseTime(text: string, now: number, utc: boolean): number {
  text = text.trim();
  if (text === 'now') return now;
  const back = /^now-(.+)$/.exec(text);
  if (back) return now - parseDuration(back[1]!);
  if (/^\d{12,}$/.test(text)) return Number(text);
  if (/^\d{9,11}(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = /^(\d{4})-(\d\d?)-(\d\d?)(?:[ T](\d\d?):(\d\d)(?::(\d\d)(\.\d{1,3})?)?)?\s*(Z|[+-]\d\d:\d\d)?$/i.exec(text);
  if (!date) return NaN; // Date.parse takes "foo 5" for a day in May
  const [y, mo, d, h, mi, s, part] = date.slice(1, 8).map(x => Number(x ?? 0)) as [number, number, number, number, number, number, number];
  const day = new Date(Date.UTC(y, mo - 1, d)); // the 30th of February would be in March
  if (day.getUTCMonth() !== mo - 1 || day.getUTCDate() !== d || h > 23 || mi > 59 || s > 59) return NaN;
  const ms = Math.round(part * 1000), zone = date[8]?.toUpperCase();
  if (!utc && zone === undefined) return new Date(y, mo - 1, d, h, mi, s, ms).getTime();
  return Date.UTC(y, mo - 1, d, h, mi, s, ms) - (zone === undefined ? 0 : offsetOf(zone));
}

/** offsetOf returns the milliseconds by which a zone such as "+02:00" is ahead of UTC. */
function offsetOf(zone: string): number {
  if (zone === 'Z') return 0;
  const [h, m] = zone.slice(1).split(':').map(Number) as [number, number];
  return (zone[0] === '-' ? -1 : 1) * (h * 60 + m) * 60e3;
}

/** resolve returns the instants of a range, or what is wrong with it. */
export function resolve(range: Range, utc: boolean, now = Date.now()): Instants | string {
  const start = parseTime(range.from, now, utc);
  const end = parseTime(range.to, now, utc);
  if (Number.isNaN(start)) return `"${range.from}" is no time. Examples: now-6h, 2026-01-31 12:00.`;
  if (Number.isNaN(end)) return `"${range.to}" is no time. Examples: now, 2026-01-31 12:00.`;
  if (start >= end) return 'The range ends before it begins.';
  return {start, end};
}

/** formatTime writes an instant for people, in their zone or in UTC. */
export function formatTime(ms: number, utc: boolean): string {
  const d = new Date(utc ? ms : ms - new Date(ms).getTimezoneOffset() * 60e3);
  const text = d.toISOString().replace('T', ' ');
  return ms % 1000 === 0 ? text.slice(0, 19) : text.slice(0, 23);
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 604800];

/** stepFor returns the seconds between points for at most so many points. */
export function stepFor(range: Instants, points: number): number {
  const wanted = (range.end - range.start) / 1000 / points;
  return steps.find(s => s >= wanted) ?? Math.ceil(wanted / 604800) * 604800;
}

/** around returns the range that is twice as wide, or moved by half of its width. */
export function widen(r: Instants): Instants {
  const half = (r.end - r.start) / 2;
  return {start: r.start - half, end: r.end + half};
}

/** move shifts a range by a share of its width. */
export function move(r: Instants, share: number): Instants {
  const by = Math.round((r.end - r.start) * share);
  return {start: r.start + by, end: r.end + by};
}

/** rounded returns a range of whole seconds, unless it is so short that parts of a second matter. */
export function rounded(r: Instants): Instants {
  const to = r.end - r.start < 60e3 ? 1 : 1000;
  return {start: Math.round(r.start / to) * to, end: Math.round(r.end / to) * to};
}
