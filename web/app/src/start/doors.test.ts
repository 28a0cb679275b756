import assert from 'node:assert/strict';
import test from 'node:test';
import {doorsOf, reachable} from './doors.ts';

test('a closed door tells how to open it', () => {
  const [shell, prometheus, carbon, tsd] = doorsOf({'carbon.listen-address': ':2003'}, 'https://metrics.example.org/tsdb/');
  assert.match(prometheus!.command, /url: https:\/\/metrics\.example\.org\/tsdb\/api\/v1\/write/);
  assert.match(shell!.command, /^curl https:\/\/metrics\.example\.org\/tsdb\/api\/v1\/import\/openmetrics /);
  assert.match(carbon!.command, /\/dev\/tcp\/metrics\.example\.org\/2003'$/);
  assert.match(doorsOf({'carbon.listen-address': '[::1]:2003'}, 'http://h/')[2]!.command, /\/dev\/tcp\/::1\/2003'$/);
  assert.equal(tsd!.command, '');
  assert.match(tsd!.text, /--opentsdb\.listen-address=:4242/);
  const chosen = doorsOf({'carbon.listen-address': '127.0.0.1:0'}, 'http://h/')[2]!;
  assert.match(chosen.command, /\/dev\/tcp\/127\.0\.0\.1\/PORT'$/);
  assert.match(chosen.text, /Put it for PORT/);
});

test('addresses that are listened on', () => {
  for (const [listens, want] of [[':2003', 'h:2003'], ['0.0.0.0:1', 'h:1'], ['[::]:1', 'h:1'], ['127.0.0.1:9', '127.0.0.1:9'], ['[::1]:9', '[::1]:9']] as const) assert.equal(reachable(listens, 'h'), want);
});
