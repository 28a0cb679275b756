import assert from 'node:assert/strict';
import test from 'node:test';
import {confirms, formatSelection, instantsOf, paramsOf, parseSelection} from './selection.ts';

test('a selection in the URL', () => {
  for (const s of [{match: 'up{a="b&c"}', from: '', to: ''}, {match: 'up', from: 'now-1d', to: 'now'}]) assert.deepEqual(parseSelection(formatSelection(s)), s);
});

test('the time of a deletion', () => {
  const now = Date.UTC(2026, 0, 2);
  assert.equal(instantsOf({match: 'up', from: '', to: ''}, now), undefined);
  assert.match(instantsOf({match: 'up', from: '', to: 'now'}, now) as string, /is no time/);
  assert.match(instantsOf({match: 'up', from: 'now', to: 'now-1h'}, now) as string, /ends before/);
  assert.deepEqual(paramsOf('up', undefined), {'match[]': 'up', start: undefined, end: undefined});
  assert.deepEqual(paramsOf('up', {start: 1500, end: 2001}), {'match[]': 'up', start: '1.500', end: '2.001'});
});

test('the phrase that confirms', () => {
  for (const text of ['delete 12', ' Delete  12 ']) assert.ok(confirms(text, 12), text);
  for (const text of ['', '12', 'delete', 'delete 1', 'delete 123', 'delete 12 x']) assert.ok(!confirms(text, 12), text);
});
