import assert from 'node:assert/strict';
import test from 'node:test';
import {formatState, mostPanels, newPanel, parseState, type State} from './state.ts';

test('all that is shown is in the URL', () => {
  const state: State = {
    range: {from: 'now-6h', to: '1769860800000'}, utc: true, refresh: 30,
    panels: [
      {language: 'promql', text: 'rate(a[5m])\n+ b', view: 'graph', stack: true, log: true, nulls: 'connect', step: '5m'},
      {language: 'graphite', text: 'a.*', view: 'raw', stack: false, log: false, nulls: 'zero', step: ''},
      newPanel('opentsdb', 'sum:a{b=*}'),
    ],
  };
  assert.deepEqual(parseState(new URLSearchParams(formatState(state).toString())), state);
});

test('what a link has wrong is left out', () => {
  const p = new URLSearchParams('l0=sql&v0=movie&o0=blink&refresh=-5');
  assert.deepEqual(parseState(p), {range: {from: 'now-1h', to: 'now'}, utc: false, refresh: 0, panels: [newPanel()]});
  const many = new URLSearchParams();
  for (let i = 0; i < 100; i++) many.set(`l${i}`, 'promql');
  assert.equal(parseState(many).panels.length, mostPanels);
});
