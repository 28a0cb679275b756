import assert from 'node:assert/strict';
import test from 'node:test';
import {isWarning} from './readiness.ts';

test('what an operator should look at stands out', () => {
  for (const line of ['writes refused: no space', 'damaged: 000004.sst', 'web configuration ignored, the passwords and certificates from before stay in use: no such file']) {
    assert.ok(isWarning(line), line);
  }
  for (const line of ['writes: taken', 'trees: 3 branches, 124 leaves in memory', '']) assert.ok(!isWarning(line), line);
});
