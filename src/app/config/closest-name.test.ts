import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closestName } from './closest-name.ts';

const names: Record<string, string | undefined> = {
  maxpods: 'maxPods',
  maxPod: 'maxPods',
  maxPodss: 'maxPods',
  maxPads: 'maxPods',
  mxaPods: 'maxPods',
  maxPodsXY: undefined,
  minPods: undefined,
  '': undefined,
};

for (const [written, meant] of Object.entries(names)) {
  test(`closestName() takes "${written}" for ${meant}`, () => {
    assert.equal(closestName(written, ['port', 'maxPods']), meant);
  });
}

test('closestName() prefers a name that differs in case alone', () => {
  assert.equal(closestName('ports', ['port', 'Ports']), 'Ports');
});
