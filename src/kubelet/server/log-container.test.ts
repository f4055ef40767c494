import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerStatus } from '../../api/generated/core-v1.ts';
import { logContainerId } from './log-container.ts';

const ended = (containerID?: string) => ({ terminated: { exitCode: 1, ...(containerID && { containerID }) } });

function idOf(status: Partial<ContainerStatus>, previous = false): string {
  const whole = { name: 'main', image: '', imageID: '', ready: false, restartCount: 0, ...status };
  return logContainerId('web', { containerStatuses: [whole] }, 'main', previous);
}

const CASES: readonly (readonly [string, Partial<ContainerStatus>, boolean, string])[] = [
  ['running', { containerID: 'x://1', state: { running: {} } }, false, 'x://1'],
  ['ended', { containerID: 'x://1', state: ended('x://1') }, false, 'x://1'],
  ['ended, and the one after it did not start', { state: ended(), lastState: ended('x://0') }, false, 'x://0'],
  [
    'waiting for a restart',
    { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: ended('x://0') },
    false,
    'x://0',
  ],
  [
    'running, the one before',
    { containerID: 'x://1', state: { running: {} }, lastState: ended('x://0') },
    true,
    'x://0',
  ],
];
for (const [what, status, previous, id] of CASES) {
  test(`logContainerId(): ${what}`, () => assert.equal(idOf(status, previous), id));
}

const ERRORS: readonly (readonly [Partial<ContainerStatus>, boolean, string])[] = [
  [{ state: { running: {} } }, true, 'previous terminated container "main" in pod "web" not found'],
  [{ state: ended() }, false, 'container "main" in pod "web" is terminated'],
  [
    { state: { waiting: { reason: 'ContainerCreating' } } },
    false,
    'container "main" in pod "web" is waiting to start: ContainerCreating',
  ],
  [
    { state: { waiting: { reason: 'ErrImagePull' } } },
    false,
    'container "main" in pod "web" is waiting to start: image can\'t be pulled',
  ],
  [
    { state: { waiting: { reason: 'ImagePullBackOff' } } },
    false,
    'container "main" in pod "web" is waiting to start: trying and failing to pull image',
  ],
  [{}, false, 'container "main" in pod "web" is waiting to start - no logs yet'],
];
for (const [status, previous, message] of ERRORS) {
  test(`logContainerId(): ${message}`, () => assert.throws(() => idOf(status, previous), { status: 400, message }));
}

test('logContainerId(): a container without a status', () => {
  assert.throws(() => logContainerId('web', {}, 'main', false), {
    status: 400,
    message: 'container "main" in pod "web" is not available',
  });
});
