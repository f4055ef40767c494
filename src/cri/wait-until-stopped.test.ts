import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '../host/fake/virtual-clock.ts';
import { CriError } from './cri-error.ts';
import {
  ContainerState,
  ContainerStatusResponse,
  PodSandboxState,
  PodSandboxStatusResponse,
} from './generated/runtime-v1.ts';
import { type WaitUntilStoppedDeps, waitUntilStopped } from './wait-until-stopped.ts';

const LIFE = new AbortController().signal;
const GONE = new CriError('NotFound', 'not found', { method: 'ContainerStatus' });

/**
 * A runtime that reports the exit of `web`, of `quick` (which is reported as created until its exit), or of the sandbox
 * `box` after this delay. It has no other containers.
 */
function slowRuntime(clock: VirtualClock, shownMs: number): WaitUntilStoppedDeps['runtime'] & { looks: number } {
  const isShown = (): boolean => clock.monotonic() >= shownMs;
  return {
    looks: 0,
    async containerStatus({ containerId }) {
      this.looks++;
      if (containerId !== 'web' && containerId !== 'quick') throw GONE;
      const before = containerId === 'web' ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_CREATED;
      const state = isShown() ? ContainerState.CONTAINER_EXITED : before;
      return ContainerStatusResponse.fromPartial({ status: { state, labels: { 'io.kubernetes.pod.uid': 'u1' } } });
    },
    async podSandboxStatus({ podSandboxId }) {
      if (podSandboxId !== 'box') throw GONE;
      const state = isShown() ? PodSandboxState.SANDBOX_NOTREADY : PodSandboxState.SANDBOX_READY;
      return PodSandboxStatusResponse.fromPartial({ status: { state, metadata: { uid: 'u2' } } });
    },
  };
}

const cases: Record<string, { id: string; shownMs: number; uid: string | undefined; atMs: number }> = {
  'a container that CRI reports at once': { id: 'web', shownMs: 0, uid: 'u1', atMs: 0 },
  'a container that CRI reports a little later': { id: 'web', shownMs: 5, uid: 'u1', atMs: 7 },
  'a container that CRI reports after a minute': { id: 'web', shownMs: 60_000, uid: 'u1', atMs: 60_415 },
  'a container whose start CRI does not report yet': { id: 'quick', shownMs: 5, uid: 'u1', atMs: 7 },
  'a sandbox': { id: 'box', shownMs: 3, uid: 'u2', atMs: 3 },
  'an unknown id': { id: 'other', shownMs: 0, uid: undefined, atMs: 0 },
};

for (const [name, { id, shownMs, uid, atMs }] of Object.entries(cases)) {
  test(`waitUntilStopped() of ${name}`, async () => {
    const clock = new VirtualClock();
    const began = clock.monotonic();
    const stopped = waitUntilStopped(id, { runtime: slowRuntime(clock, began + shownMs), clock }, LIFE);
    assert.equal(await clock.runUntil(stopped), uid);
    assert.equal(clock.monotonic() - began, atMs);
  });
}

test('waitUntilStopped() rejects when the signal aborts', async () => {
  const clock = new VirtualClock();
  const life = new AbortController();
  const runtime = slowRuntime(clock, Number.POSITIVE_INFINITY);
  const stopped = assert.rejects(waitUntilStopped('web', { runtime, clock }, life.signal), /over/);
  await clock.advance(10_000);
  life.abort(new Error('over'));
  await clock.runUntil(stopped);
  const { looks } = runtime;
  await clock.advance(10_000);
  assert.equal(runtime.looks, looks);
});
