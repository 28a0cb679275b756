// Reads the text format of /metrics.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** parseExposition returns the samples of a scrape; comments and what it cannot read are left out. */
export function parseExposition(text: string): Sample[] {
  const all: Sample[] = [];
  for (const line of text.split('\n')) {
    const m = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)/.exec(line);
    if (!m) continue;
    const labels: Record<string, string> = {};
    for (const [, k, v] of (m[2] ?? '').matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) labels[k!] = v!.replace(/\\(.)/g, (_, c: string) => c === 'n' ? '\n' : c);
    all.push({name: m[1]!, labels, value: Number(m[3]!.replace('Inf', 'Infinity'))});
  }
  return all;
}

/** Scrape is what /metrics told at an instant. */
export class Scrape {
  readonly at = Date.now();
  readonly samples: Sample[];
  private readonly byName = new Map<string, Sample[]>();

  constructor(text: string) {
    this.samples = parseExposition(text);
    for (const s of this.samples) {
      const same = this.byName.get(s.name);
      if (same) same.push(s); else this.byName.set(s.name, [s]);
    }
  }

  all(name: string): Sample[] {
    return this.byName.get(name) ?? [];
  }

  /** sum adds up the samples that have these labels, undefined if there are none. */
  sum(name: string, labels: Record<string, string> = {}): number | undefined {
    const fit = this.all(name).filter(s => Object.entries(labels).every(([k, v]) => s.labels[k] === v));
    return fit.length === 0 ? undefined : fit.reduce((n, s) => n + s.value, 0);
  }
}
