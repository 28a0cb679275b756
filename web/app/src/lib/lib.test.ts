import assert from 'node:assert/strict';
import test from 'node:test';
import {align, seriesOf, showLabels, summarize, type Series} from './frame.ts';
import {formatBytes, formatNumber} from './format.ts';
import {formatRoute, parseRoute} from './route.ts';
import {formatDuration, formatTime, move, parseDuration, parseTime, resolve, stepFor, widen} from './time.ts';

const now = Date.UTC(2026, 0, 31, 12);

test('times', () => {
  for (const [text, want] of [
    ['now', now], ['now-90m', now - 90 * 60e3], ['now-1h30m', now - 90 * 60e3], ['2026-01-31', Date.UTC(2026, 0, 31)], ['2026-01-31 11:30', now - 30 * 60e3],
    ['2026-01-31T11:30:05', now - 30 * 60e3 + 5000], ['1769860800', now], ['1769860800000', now], ['2026-01-31T12:00:00+02:00', now - 2 * 3600e3], ['2026-01-31T12:00:00.250Z', now + 250], ['2026-01-31 11:59:59.5', now - 500],
    ['2024-02-29', Date.UTC(2024, 1, 29)], ['1969-12-31T23:59:59.000Z', -1000],
  ] as const) assert.equal(parseTime(text, now, true), want, text);
  for (const bad of ['', 'yesterday', 'now-', 'now-5', 'now+1h', 'now-1x', '12:00', 'foo 5', '5', '86400', '2026', '2026-02-30', '2026-13-01', '2026-00-10', '2026-01-31 24:00',
    '2026-01-31 12:60', '2026-01-31 1', 'May 5 2026', '2026-01-31T12:00:00+2']) assert.ok(Number.isNaN(parseTime(bad, now, true)), bad);
  assert.match(resolve({from: 'now', to: 'now-1h'}, true, now) as string, /ends before/);
  assert.match(resolve({from: 'x', to: 'now'}, true, now) as string, /"x" is no time/);
  assert.equal(formatTime(now + 1500, true), '2026-01-31 12:00:01.500');
  for (const text of ['1d2h', '90ms', '5m', '1h30m', '15s']) assert.equal(formatDuration(parseDuration(text)), text);
  assert.deepEqual(widen({start: 100, end: 200}), {start: 50, end: 250});
  assert.deepEqual(move({start: 100, end: 200}, -0.5), {start: 50, end: 150});
});

test('a step makes at most as many points as are wanted', () => {
  for (const width of [60, 3600, 86400, 30 * 86400, 10 * 365 * 86400]) {
    for (const points of [100, 600, 2000]) {
      const step = stepFor({start: 0, end: width * 1000}, points);
      assert.ok(width / step <= points && step >= 1, `${width} s in ${points}: ${step}`);
    }
  }
});

test('numbers', () => {
  for (const [v, want] of [
    [0, '0'], [1, '1'], [0.5, '0.5'], [1234, '1.234k'], [999999, '1M'], [-1.5e9, '-1.5G'], [1e-7, '1e-7'], [NaN, 'NaN'], [Infinity, '+Inf'], [-Infinity, '-Inf'], [0.1 + 0.2, '0.3'], [100, '100'],
  ] as const) assert.equal(formatNumber(v), want);
  assert.equal(formatBytes(1536), '1.5 KiB');
});

function series(name: string, times: number[], values: (number | null)[]): Series {
  return seriesOf({name, subject: '', labels: {}}, times, values);
}

test('series of other times stand side by side, gaps stay gaps', () => {
  const {times, rows} = align([series('a', [10, 20, 30], [1, null, 3]), series('b', [20, 40], [5, 6])]);
  assert.deepEqual(times, [10, 20, 30, 40]);
  assert.deepEqual(rows.map(r => Array.from(r)), [[1, NaN, 3, Infinity], [Infinity, 5, Infinity, 6]]);
  assert.deepEqual(align([]), {times: [], rows: []});
});

test('a summary leaves out what is missing', () => {
  assert.deepEqual(summarize({values: [2, null, 4]}), {last: 4, min: 2, max: 4, mean: 3, points: 2});
  assert.deepEqual(summarize({values: [null]}), {last: null, min: null, max: null, mean: null, points: 0});
});

test('labels are written as PromQL does', () => {
  assert.equal(showLabels({__name__: 'up', job: 'a"b'}), 'up{job="a\\"b"}');
  assert.equal(showLabels({__name__: 'sys.cpu', 'a-b': 'x'}), '{"sys.cpu", "a-b"="x"}');
  assert.equal(showLabels({__name__: 'up'}), 'up');
  assert.equal(showLabels({}), '{}');
});

test('a route is read as it was written', () => {
  const params = new URLSearchParams({q0: 'a{b="c"} & d#?', from: 'now-1h'});
  const back = parseRoute(formatRoute('explore', params));
  assert.equal(back.page, 'explore');
  assert.equal(back.params.get('q0'), 'a{b="c"} & d#?');
  assert.deepEqual(parseRoute(''), {page: '', params: new URLSearchParams()});
});
