import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../api/generated/core-v1.ts';
import { CriError } from '../../cri/cri-error.ts';
import { createFakeRuntime } from '../../cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { Timeline } from '../events/timeline.ts';
import { logLinkName } from '../logs/log-links.ts';
import type { ObservedContainer, ObservedPod } from '../pod/observed-pod.ts';
import { pruneInitContainers, removeInitContainers, removePod } from './remove-containers.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'default', uid: 'u' },
  spec: {
    initContainers: [
      { name: 'init', image: 'busybox' },
      { name: 'proxy', image: 'busybox', restartPolicy: 'Always' },
    ],
    containers: [{ name: 'a', image: 'busybox' }],
  },
};

const seen = (name: string) => ({ name, id: `id-${name}` }) as ObservedContainer; // nothing else is looked at

const sandbox = { attempt: 0, ready: false, createdAt: 1n, hostNetwork: false, ips: [], runtimeHandler: '' };
const stopped: ObservedPod = {
  ...pod.metadata,
  sandboxes: [{ ...sandbox, id: 's1' }],
  containers: [seen('a'), seen('b')],
  inspectedAt: 0,
};

/** An init container as observed; other fields are not read. */
function past(id: string, name: string, state: ObservedContainer['state'] = 'exited'): ObservedContainer {
  const terminationMessageFile = `/root/pods/u/containers/${name}/${id}`;
  return { id, name, state, logPath: `/logs/${name}/${id}.log`, terminationMessageFile } as ObservedContainer;
}

const remembered: ObservedPod = {
  ...pod.metadata,
  sandboxes: [],
  containers: [
    past('2', 'init'),
    past('1', 'init', 'unknown'),
    past('0', 'init'),
    past('8', 'proxy', 'running'),
    past('7', 'proxy'),
    past('6', 'proxy'),
    past('9', 'a'),
    past('5', 'a'),
  ],
  inspectedAt: 0,
};

async function removedBy(remove: typeof pruneInitContainers): Promise<{ ids: string[]; logs: string[] }> {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/links');
  for (const { id, name, logPath, terminationMessageFile = '' } of remembered.containers) {
    for (const path of [logPath, terminationMessageFile]) {
      await host.fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
      await host.fs.writeFile(path, 'said');
    }
    await host.fs.symbolicLink(logPath, `/links/${logLinkName(pod, name, id)}`);
  }
  await host.fs.writeFile('/logs/init/0.log.20260101-000000.gz', 'said before');
  const ids: string[] = [];
  const runtime: Parameters<typeof removePod>[2]['runtime'] = {
    ...createFakeRuntime(host).cri.runtime,
    removeContainer: async ({ containerId }) => {
      ids.push(containerId);
      return {};
    },
  };
  const settings = { rootDir: '/root', containerLogsDir: '/links' };
  await remove(pod, remembered, { runtime, fs: host.fs, settings }, new AbortController().signal);
  const names = async (folder: string): Promise<string[]> =>
    (await host.fs.readDirectory(folder)).map(({ name }) => name);
  const logs = (await Promise.all(['init', 'proxy', 'a'].map((name) => names(`/logs/${name}`)))).flat();
  const left = remembered.containers.filter(({ id }) => !ids.includes(id));
  assert.deepEqual(new Set(await names('/links')), new Set(left.map(({ id, name }) => logLinkName(pod, name, id))));
  for (const { id, terminationMessageFile = '' } of remembered.containers) {
    assert.equal((await host.fs.stat(terminationMessageFile)) === undefined, ids.includes(id));
  }
  return { ids, logs };
}

test('pruneInitContainers() keeps running init containers, the last exited one of each, and their logs', async () => {
  const { ids, logs } = await removedBy(pruneInitContainers);
  assert.deepEqual(new Set(ids), new Set(['1', '0', '6']));
  assert.deepEqual(new Set(logs), new Set(['2.log', '8.log', '7.log', '9.log', '5.log']));
});

test('removeInitContainers() removes all init containers with their logs', async () => {
  const { ids, logs } = await removedBy(removeInitContainers);
  assert.deepEqual(new Set(ids), new Set(['2', '1', '0', '8', '7', '6']));
  assert.deepEqual(new Set(logs), new Set(['9.log', '5.log']));
});

/** The calls that remove a stopped pod from a runtime with these errors for sandboxes. */
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
  const deps = { ...host, runtime, timeline: new Timeline(host.clock), settings: { rootDir: '/root' } };
  await removePod(pod, stopped, deps, new AbortController().signal);
  return calls;
}

test('removePod() removes the log links of its containers and no others', async () => {
  const host = createMemoryHost();
  const { runtime } = createFakeRuntime(host).cri;
  const names = [logLinkName(pod, 'a', 'id-a'), logLinkName(pod, 'other', 'id-c')];
  await host.fs.makeDirectory('/links');
  for (const name of names) await host.fs.symbolicLink('/nowhere', `/links/${name}`);
  const settings = { rootDir: '/root', containerLogsDir: '/links' };
  const deps = { ...host, runtime, timeline: new Timeline(host.clock), settings };
  await removePod(pod, stopped, deps, new AbortController().signal);
  assert.deepEqual(
    (await host.fs.readDirectory('/links')).map(({ name }) => name),
    ['web_default_other-id-c.log'],
  );
});

test('removePod() removes the containers, then the stopped sandbox', async () => {
  assert.deepEqual(await removalCalls(() => undefined), ['remove id-a', 'remove id-b', 'remove s1']);
});

test('removePod() succeeds when the sandbox is gone', async () => {
  const gone = new CriError('NotFound', 'no such sandbox', { method: 'RemovePodSandbox' });
  assert.deepEqual(await removalCalls(() => gone), ['remove id-a', 'remove id-b', 'remove s1']);
});

test('removePod() stops a sandbox that cannot be removed', async () => {
  const open = new CriError('Unknown', 'network namespace is not fully closed', { method: 'RemovePodSandbox' });
  assert.deepEqual((await removalCalls((isStopped) => (isStopped ? undefined : open))).slice(2), [
    'remove s1',
    'stop s1',
    'remove s1',
  ]);
});
