/** Pods with CSI volumes come and go while the agent is killed; `make csi-cycles` runs more of them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCsiCycles } from '../csi/csi-cycles.ts';
import { hostpathDriverSkipReason } from '../csi/hostpath-driver.ts';
import { nodeletNodeSkipReason } from './nodelet-node.ts';

const skip = nodeletNodeSkipReason() || hostpathDriverSkipReason();

test('nothing is left of CSI volumes after pods have come and gone and the agent was killed', { skip }, async () => {
  const { kills } = await runCsiCycles({ cycles: 6, lanes: 3, seed: 1 });
  assert.ok(kills > 0);
});
