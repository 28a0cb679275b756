import assert from 'node:assert/strict';
import test from 'node:test';
import {countOf, doors} from './doorlist.ts';
import {Scrape} from './exposition.ts';

test("carbon's lines that are no points count in its row", () => {
  const now = new Scrape('tsdbridge_graphite_points_received_total 10\ntsdbridge_graphite_points_written_total 9\ntsdbridge_graphite_points_rejected_total 1\n'
    + 'tsdbridge_graphite_points_failed_total 0\ntsdbridge_carbon_rejected_lines_total{reason="fields"} 1\ntsdbridge_carbon_rejected_lines_total{reason="value"} 2\n');
  const row = (title: string) => countOf(doors.find(d => d.title === title)!, now);
  assert.deepEqual(row('Carbon'), {received: 13, written: 9, rejected: 4, failed: 0});
  assert.deepEqual(row('OpenTSDB telnet'), {received: 0, written: 0, rejected: 0, failed: 0});
  assert.equal(row('Text over HTTP').failed, undefined);
});
