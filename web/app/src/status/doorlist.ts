import type {Scrape} from './exposition.ts';

type Counter = [string, Record<string, string>];

/** A Door is a protocol by which points come in, with its counters. */
export interface Door {
  title: string;
  received: Counter;
  written: Counter;
  rejected: Counter;
  /** Lines that are no points: they count as received and rejected. */
  lines?: Counter;
  /** undefined: the door does not count what its sender repeats. */
  failed?: Counter;
}

function door(title: string, prefix: string, labels: Record<string, string>): Door {
  return {
    title, received: [`${prefix}_received_total`, labels], written: [`${prefix}_written_total`, labels],
    rejected: [`${prefix}_rejected_total`, labels], failed: [`${prefix}_failed_total`, labels],
  };
}

export const doors: Door[] = [
  door('Remote write 1.0', 'tsdbridge_write_samples', {protocol: 'remote_write_1'}),
  door('Remote write 2.0', 'tsdbridge_write_samples', {protocol: 'remote_write_2'}),
  {
    title: 'OpenTelemetry', received: ['tsdbridge_otlp_received_data_points_total', {}], written: ['tsdbridge_otlp_written_data_points_total', {}],
    rejected: ['tsdbridge_otlp_rejected_data_points_total', {}], failed: ['tsdbridge_otlp_failed_data_points_total', {}],
  },
  {
    title: 'Text over HTTP', received: ['tsdbridge_import_text_samples_total', {}], written: ['tsdbridge_import_text_samples_total', {outcome: 'written'}],
    rejected: ['tsdbridge_import_text_samples_total', {outcome: 'rejected'}],
  },
  {...door('Carbon', 'tsdbridge_graphite_points', {}), lines: ['tsdbridge_carbon_rejected_lines_total', {}]},
  door('OpenTSDB over HTTP', 'tsdbridge_opentsdb_points', {protocol: 'http'}),
  door('OpenTSDB telnet', 'tsdbridge_opentsdb_points', {protocol: 'telnet'}),
];

/** A Count is what came by a door since the start. */
export interface Count {
  received: number;
  written: number;
  rejected: number;
  /** undefined: the door does not count it. */
  failed: number | undefined;
}

/** countOf returns what came by a door: lines that are no points were received, and rejected. */
export function countOf(door: Door, now: Scrape): Count {
  const sum = (counter: Counter | undefined) => counter ? now.sum(...counter) ?? 0 : 0;
  const lines = sum(door.lines);
  return {
    received: sum(door.received) + lines, written: sum(door.written), rejected: sum(door.rejected) + lines,
    failed: door.failed && sum(door.failed),
  };
}
