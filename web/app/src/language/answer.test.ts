import assert from 'node:assert/strict';
import test from 'node:test';
import {readAnswer} from './answer.ts';

test('PromQL: values stand at their steps, gaps are null', () => {
  const {series, notes} = readAnswer({language: 'promql', start: 60, end: 180, step: 60}, JSON.stringify({
    data: {resultType: 'matrix', result: [{metric: {__name__: 'up', job: 'a'}, values: [[60, '1'], [180, '+Inf']]}, {metric: {}, values: [[120, 'NaN']]}]}, warnings: ['careful'],
  }));
  assert.deepEqual(series[0], {name: 'up{job="a"}', subject: 'up{job="a"}', labels: {__name__: 'up', job: 'a'}, times: [60e3, 120e3, 180e3], values: Float64Array.of(1, NaN, Infinity), lastAt: 2, summary: {last: Infinity, min: 1, max: Infinity, mean: Infinity, points: 2}});
  assert.deepEqual([[...series[1]!.values], series[1]!.lastAt], [[NaN, NaN, NaN], 1]);
  assert.equal(series[1]!.subject, '');
  assert.deepEqual(notes, ['careful']);
});

test('Graphite: the subject is the path with its own tags, none for an aggregate', () => {
  const {series} = readAnswer({language: 'graphite'}, JSON.stringify([
    {target: 'x', tags: {name: 'a.b', host: 'h', summarize: '1h'}, datapoints: [[1, 60], [null, 120]]},
    {target: 'sum', tags: {name: 'a.b', aggregatedBy: 'sum'}, datapoints: []},
  ]));
  assert.deepEqual(series.map(s => s.subject), ['a.b;host=h', '']);
  assert.deepEqual([series[0]!.times, series[0]!.values], [[60e3, 120e3], Float64Array.of(1, NaN)]);
});

test('OpenTSDB: a group of one series has its TSUID as subject', () => {
  const {series} = readAnswer({language: 'opentsdb'}, JSON.stringify([
    {metric: 'm', tags: {host: 'a'}, aggregateTags: ['dc'], tsuids: ['01'], dps: [[1000, 1], [2000, 'NaN'], [3000, null]]},
    {metric: 'm', tags: {}, aggregateTags: [], tsuids: ['01', '02'], dps: []},
  ]));
  assert.deepEqual(series.map(s => [s.name, s.subject]), [['m{host=a} over dc', '01'], ['m{}', '']]);
  assert.deepEqual([[...series[0]!.values], series[0]!.lastAt], [[1, NaN, NaN], 1]);
});

test('what is no answer fails', () => {
  for (const language of ['graphite', 'opentsdb'] as const) for (const text of ['', 'garbage', '{"a":1}']) assert.throws(() => readAnswer({language}, text), text);
});
