import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { Timeline } from '../explain/timeline.ts';
import type { ObservedContainer, ObservedPod } from '../observe/observed-pod.ts';
import { removePod, stopOrder } from './stop-pod.ts';

const container = (name: string) => ({ name, image: 'busybox' });
const sidecar = (name: string) => ({ ...container(name), restartPolicy: 'Always' });
const seen = (name: string) => ({ name, id: `id-${name}` }) as ObservedContainer; // the order looks at names alone

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: {
    initContainers: [container('init'), sidecar('proxy'), sidecar('log')],
    containers: [container('a'), container('b')],
  },
};

const cases: Record<string, { running: string[]; order: string[][] }> = {
  'stops main containers together, then sidecars from the last to the first': {
    running: ['proxy', 'log', 'a', 'b'],
    order: [['a', 'b'], ['log'], ['proxy']],
  },
  'stops an init container with what else runs': { running: ['proxy', 'init'], order: [['init'], ['proxy']] },
  'leaves out what does not run': { running: ['log'], order: [['log']] },
  'stops what the spec does not know with the main containers': {
    running: ['old', 'proxy'],
    order: [['old'], ['proxy']],
  },
  'has nothing to do for a stopped pod': { running: [], order: [] },
};

for (const [name, { running, order }] of Object.entries(cases)) {
  test(`stopOrder() ${name}`, () => {
    const groups = stopOrder(pod, running.map(seen));
    assert.deepEqual(
      groups.map((group) => group.map((each) => each.name)),
      order,
    );
  });
}

const sandbox = { attempt: 0, ready: false, createdAt: 1n, hostNetwork: false, ips: [], runtimeHandler: '' };
const stopped: ObservedPod = {
  ...pod.metadata,
  sandboxes: [{ ...sandbox, id: 's1' }],
  containers: [seen('a'), seen('b')],
  inspectedAt: 0,
};

/** The calls that it takes to remove a stopped pod from a runtime that has its own mind about sandboxes. */
async function removalCalls(removeSandbox: (isStopped: boolean) => CriError | undefined): Promise<string[]> {
  const host = createMemoryHost();
  const calls: string[] = [];
  const note = (call: string): object => {
    calls.push(call);
    return {};
  };
  const runtime: Parameters<typeof removePod>[2]['runtime'] = {
    ...createFakeRuntime(host).cri.runtime,
    removeContainer: async ({ containerId }) => note(`remove ${containerId}`),
    stopPodSandbox: async ({ podSandboxId }) => note(`stop ${podSandboxId}`),
    removePodSandbox: async ({ podSandboxId }) => {
      const error = removeSandbox(calls.includes(`stop ${podSandboxId}`));
      calls.push(`remove ${podSandboxId}`);
      if (error) throw error;
      return {};
    },
  };
  await removePod(pod, stopped, { runtime, timeline: new Timeline(host.clock) }, AbortSignal.timeout(1000));
  return calls;
}

test('removePod() removes the containers, then the sandbox, which was stopped before', async () => {
  assert.deepEqual(await removalCalls(() => undefined), ['remove id-a', 'remove id-b', 'remove s1']);
});

test('removePod() is content with a sandbox that is gone', async () => {
  const gone = new CriError('NotFound', 'no such sandbox', { method: 'RemovePodSandbox' });
  assert.deepEqual(await removalCalls(() => gone), ['remove id-a', 'remove id-b', 'remove s1']);
});

test('removePod() stops a sandbox that the runtime does not let go', async () => {
  const open = new CriError('Unknown', 'network namespace is not fully closed', { method: 'RemovePodSandbox' });
  assert.deepEqual((await removalCalls((isStopped) => (isStopped ? undefined : open))).slice(2), [
    'remove s1',
    'stop s1',
    'remove s1',
  ]);
});
