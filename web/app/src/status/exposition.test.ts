import assert from 'node:assert/strict';
import test from 'node:test';
import {parseExposition, Scrape} from './exposition.ts';

test('the text format of metrics', () => {
  assert.deepEqual(parseExposition('# HELP a b\na 1\nb{x="y\\"z\\n",k="v"} 2.5e3\nc{} +Inf\n\nbroken\n'), [
    {name: 'a', labels: {}, value: 1}, {name: 'b', labels: {x: 'y"z\n', k: 'v'}, value: 2500}, {name: 'c', labels: {}, value: Infinity},
  ]);
  const s = new Scrape('a{k="1",l="x"} 1\na{k="2",l="x"} 2\n');
  assert.equal(s.sum('a'), 3);
  assert.equal(s.sum('a', {k: '2'}), 2);
  assert.equal(s.sum('a', {k: '3'}), undefined);
});
