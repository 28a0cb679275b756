import assert from 'node:assert/strict';
import test from 'node:test';
import {parseExpression} from './language.ts';

test('the language of a rule', () => {
  for (const [query, want] of [
    ['up == 0', ['promql', '', 'up == 0']],
    ['graphite: sumSeries(a.*.b)', ['graphite', '', 'sumSeries(a.*.b)']],
    ['graphite[10m]: a: b', ['graphite', '10m', 'a: b']],
    ['opentsdb: sum:1m-avg:sys.cpu{host=*}', ['opentsdb', '', 'sum:1m-avg:sys.cpu{host=*}']],
    ['graphite_up', ['promql', '', 'graphite_up']],
    ['other: x', ['promql', '', 'other: x']],
  ] as const) {
    const e = parseExpression(query);
    assert.deepEqual([e.language, e.window, e.text], want, query);
  }
});
