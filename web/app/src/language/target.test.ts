import assert from 'node:assert/strict';
import test from 'node:test';
import {visible} from '../lib/visible.ts';
import {targetOf} from './target.ts';

test('a path is its own target unless it has tags or characters of the language', () => {
  for (const [path, want] of [
    ['a.b-c.d', 'a.b-c.d'], ['a.b;x=1;y=2', "seriesByTag('name=a.b', 'x=1', 'y=2')"], ['a.b*', "seriesByTag('name=a.b*')"], ["a.(b'", "seriesByTag('name=a.(b\\'')"],
  ] as const) assert.equal(targetOf(path), want);
});

test('characters that are not seen are shown', () => {
  assert.equal(visible('a\u202eb\u200b\u0000c é א'), 'a\\u202eb\\u200b\\u0000c é א');
});
