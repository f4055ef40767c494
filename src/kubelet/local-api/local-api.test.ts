import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { type TestContext, test } from 'node:test';
import type { PodStatus } from '../../api/generated/core-v1.ts';
import { parseTime } from '../../base/rfc3339.ts';
import type { ExecRequest } from '../../cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { linuxFileSystem } from '../../host/linux/fs/linux-file-system.ts';
import { linuxNetwork } from '../../host/linux/linux-network.ts';
import { linuxClock } from '../../host/linux/process/linux-clock.ts';
import type { Network } from '../../host/network.ts';
import {
  exitedContainer,
  observedOf,
  READY,
  reportOf,
  runningContainer,
  ScriptedView,
  staticPod,
  wholeLog,
} from './fake/scripted-view.ts';
import { createLocalApi, type LocalApiDeps } from './local-api.ts';
import { createLocalClient } from './local-client.ts';

const TIME = '2026-11-15T10:00:00.000000000Z';
const NOW = parseTime(TIME);
const hello = { name: 'hello', namespace: undefined };
const logs = wholeLog('hello');

const worlds: Record<string, () => { fs: FileSystem; network: Network; folder: string }> = {
  'in memory': () => ({ ...createMemoryHost(), folder: '/run/nodelet' }),
  'on a real socket': () => ({ fs: linuxFileSystem, network: linuxNetwork, folder: `${tmpdir()}/nl-${randomUUID()}` }),
};

async function setUp(t: TestContext, world: keyof typeof worlds, more: Partial<LocalApiDeps> = {}) {
  const { fs, network, folder } = (worlds[world] ?? assert.fail())();
  await fs.makeDirectory(folder, 0o700);
  const view = new ScriptedView();
  const execs: ExecRequest[] = [];
  const runtime = {
    exec: async (request: ExecRequest) => {
      execs.push(request);
      return { url: 'http://127.0.0.1:1/exec/x' };
    },
  };
  const identity = { version: '1.2.3', pid: 42 };
  const socketPath = `${folder}/nodelet.sock`;
  const api = createLocalApi({ identity, fs, clock: { now: () => NOW }, agent: () => ({ view, runtime }), ...more });
  const server = await network.serve({ socketPath, mode: 0o600 }, api);
  t.after(async () => {
    await server.close();
    await fs.removeTree(folder);
  });
  return { view, execs, fs, folder, server, client: createLocalClient({ network, socketPath }) };
}

async function textOf(text: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(text)).toString();
}

for (const world of Object.keys(worlds)) {
  test(`the local API ${world} returns its version`, async (t) => {
    const { client } = await setUp(t, world);
    assert.deepEqual(await client.version(t.signal), { version: '1.2.3', pid: 42 });
  });

  test(`the local API ${world} lists pods with their status, by namespace and name`, async (t) => {
    const { view, client } = await setUp(t, world);
    view.show(reportOf(staticPod('b', 'z')));
    view.show(reportOf(staticPod('c', 'a'), { status: READY, observed: observedOf(staticPod(), []) }));
    view.show(reportOf(staticPod('a', 'a')));
    view.addManifestErrors({ source: '/m/x.yaml', errors: ['/m/x.yaml:1:1: no'] });
    const { nodeName, pods, manifests } = await client.pods(undefined, t.signal);
    assert.deepEqual(
      { nodeName, manifests, pods: pods.map(({ pod, worker }) => [pod.metadata.name, pod.status?.phase, worker]) },
      {
        nodeName: 'box',
        manifests: [{ source: '/m/x.yaml', errors: ['/m/x.yaml:1:1: no'] }],
        pods: [
          ['a-box', 'Pending', 'syncing'],
          ['c-box', 'Running', 'syncing'],
          ['b-box', 'Pending', 'syncing'],
        ],
      },
    );
    const { pods: ofOne } = await client.pods('z', t.signal);
    assert.deepEqual(
      ofOne.map(({ pod }) => pod.metadata.name),
      ['b-box'],
    );
  });

  test(`the local API ${world} streams a log until the container ends`, { timeout: 10_000 }, async (t) => {
    const { view, fs, folder, client } = await setUp(t, world);
    const path = `${folder}/0.log`;
    await fs.writeFile(path, `${TIME} stdout F one\n`);
    const pod = staticPod('hello', 'default', ['web', 'log']);
    view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', path)]) }));
    const { note, text } = await client.logs({ ...logs, follow: true }, t.signal);
    assert.equal(note, 'Defaulted container "web" out of: web, log');
    const chunks = text[Symbol.asyncIterator]();
    assert.equal(Buffer.from((await chunks.next()).value ?? []).toString(), 'one\n');
    await fs.appendFile(path, `${TIME} stderr F two\n`);
    assert.equal(Buffer.from((await chunks.next()).value ?? []).toString(), 'two\n');
    view.show(reportOf(pod, { observed: observedOf(pod, [exitedContainer('c1', 'web', path)]) }));
    assert.equal((await chunks.next()).done, true);
  });

  test(`the local API ${world} can be held until it ends`, { timeout: 10_000 }, async (t) => {
    const { client, server } = await setUp(t, world);
    const { ended } = await client.hold(t.signal);
    await server.close();
    await ended;
  });

  test(`the local API ${world} stops following when the client leaves`, { timeout: 10_000 }, async (t) => {
    const { view, fs, folder, client } = await setUp(t, world);
    await fs.writeFile(`${folder}/0.log`, `${TIME} stdout F one\n`);
    const pod = staticPod();
    view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', `${folder}/0.log`)]) }));
    const leave = new AbortController();
    const { text } = await client.logs({ ...logs, follow: true }, leave.signal);
    await text[Symbol.asyncIterator]().next();
    assert.equal(view.listeners, 1);
    leave.abort();
    while (view.listeners > 0) await linuxClock.sleep(1, t.signal);
  });
}

test('the local API ends a log at its limit, and does not follow it any more', async (t) => {
  const { view, fs, client } = await setUp(t, 'in memory');
  await fs.writeFile('/run/nodelet/0.log', `${TIME} stdout F one\n`);
  const pod = staticPod();
  view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', '/run/nodelet/0.log')]) }));
  const { text } = await client.logs({ ...logs, follow: true, limitBytes: 2 }, t.signal);
  assert.equal(await textOf(text), 'on');
  assert.equal(view.listeners, 0);
});

test('the local API gives the log of the container before', async (t) => {
  const { view, fs, client } = await setUp(t, 'in memory');
  await fs.writeFile('/run/nodelet/0.log', `${TIME} stdout F before\n`);
  await fs.writeFile('/run/nodelet/1.log', `${TIME} stdout F now\n`);
  const pod = staticPod();
  const containers = [
    runningContainer('c2', 'web', '/run/nodelet/1.log'),
    exitedContainer('c1', 'web', '/run/nodelet/0.log'),
  ];
  view.show(reportOf(pod, { observed: observedOf(pod, containers) }));
  assert.equal(await textOf((await client.logs(logs, t.signal)).text), 'now\n');
  assert.equal(await textOf((await client.logs({ ...logs, previous: true }, t.signal)).text), 'before\n');
});

test('the local API reports a missing log, unless it may still come', async (t) => {
  const { view, fs, client } = await setUp(t, 'in memory');
  const path = '/run/nodelet/web/0.log';
  const pod = staticPod();
  const missing = {
    message: `failed to try resolving symlinks in path "${path}": lstat /run/nodelet/web: no such file or directory`,
  };
  view.show(reportOf(pod, { observed: observedOf(pod, [exitedContainer('c1', 'web', path)]) }));
  await assert.rejects(client.logs(logs, t.signal), missing);
  await assert.rejects(client.logs({ ...logs, follow: true }, t.signal), missing);
  view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', path)]) }));
  const { text } = await client.logs({ ...logs, follow: true, limitBytes: 4 }, t.signal);
  await fs.makeDirectory('/run/nodelet/web', 0o755);
  await fs.writeFile(path, `${TIME} stdout F one\n`);
  assert.equal(await textOf(text), 'one\n');
});

test('the local API explains a pod, and what was done for it', async (t) => {
  const { view, client } = await setUp(t, 'in memory');
  const step = { name: 'sandbox', subject: undefined, startedMs: NOW - 3000, outcome: { kind: 'running' } } as const;
  view.show(reportOf(staticPod(), { steps: [step] }));
  assert.deepEqual(await client.why(hello, t.signal), {
    pod: 'default/hello-box',
    sentences: ['hello is not ready: it is creating its sandbox.', 'It has been creating its sandbox for 3 s.'],
  });
  view.disks.push('the disk of /var/lib/kubelet is full: 0 B of 1.0 GiB are free');
  const [, reason] = (await client.why(hello, t.signal)).sentences;
  assert.equal(reason, 'The disk of /var/lib/kubelet is full: 0 B of 1.0 GiB are free.');
  assert.deepEqual(await client.timeline(hello, t.signal), {
    pod: 'default/hello-box',
    nowMs: NOW,
    steps: [{ name: 'sandbox', startedMs: NOW - 3000, outcome: { kind: 'running' } }],
    waits: [],
  });
});

test('the local API lists the errors of manifests for an unknown pod', async (t) => {
  const { view, client } = await setUp(t, 'in memory');
  await assert.rejects(client.why(hello, t.signal), { message: 'pods "hello" not found' });
  view.addManifestErrors({ source: '/m/x.yaml', errors: ['/m/x.yaml:1:1: no', 'EACCES'] });
  await assert.rejects(client.why(hello, t.signal), {
    code: 'NotFound',
    message: 'pods "hello" not found; not all of the manifests can be used:\n  /m/x.yaml:1:1: no\n  /m/x.yaml: EACCES',
  });
  view.stoppedPods.push(staticPod());
  await assert.rejects(client.why(hello, t.signal), {
    message: 'pods "hello" not found: it was stopped, and comes back when its manifest changes',
  });
});

test('the local API returns the exec address of the runtime', async (t) => {
  const { view, execs, client } = await setUp(t, 'in memory');
  const pod = staticPod();
  view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', '')]) }));
  const query = { pod: { name: 'hello-box', namespace: 'default' }, container: 'web', command: ['ls', '-l'] };
  assert.deepEqual(await client.exec({ ...query, stdin: true, tty: true }, t.signal), {
    url: 'http://127.0.0.1:1/exec/x',
  });
  assert.deepEqual(execs, [
    { containerId: 'c1', cmd: ['ls', '-l'], stdin: true, tty: true, stdout: true, stderr: false },
  ]);
});

test('the local API stops a pod and answers when it is gone', async (t) => {
  const { view, client } = await setUp(t, 'in memory');
  view.show(reportOf(staticPod()));
  assert.deepEqual(await client.stop(hello, 3, t.signal), { stopped: ['default/hello-box'] });
  assert.deepEqual(view.stopped, ['default-hello 3']);
});

test('the local API ends the agent where that ends its pods', async (t) => {
  const graces: Array<number | undefined> = [];
  const shutdown = async (grace: number | undefined): Promise<void> => {
    graces.push(grace);
  };
  const { view, client } = await setUp(t, 'in memory', { shutdown });
  view.show(reportOf(staticPod()));
  assert.deepEqual(await client.shutdown(undefined, t.signal), { stopped: ['default/hello-box'] });
  assert.deepEqual(graces, [undefined]);
});

test('the local API reports that the agent is still starting', async (t) => {
  const { client } = await setUp(t, 'in memory', { agent: () => undefined });
  await assert.rejects(client.pods(undefined, t.signal), {
    code: 'Unavailable',
    message: 'the agent is still starting',
  });
});

type Client = ReturnType<typeof createLocalClient>;
const exec = { container: undefined, command: ['ls'], stdin: false, tty: false };

const errors: Record<string, { ask: (client: Client, signal: AbortSignal) => Promise<unknown>; error: object }> = {
  'an unknown pod': {
    ask: (client, signal) => client.stop({ name: 'other', namespace: undefined }, undefined, signal),
    error: { code: 'NotFound', message: 'pods "other" not found' },
  },
  'why of an unknown pod': {
    ask: (client, signal) => client.why({ name: 'other', namespace: undefined }, signal),
    error: { code: 'NotFound', message: 'pods "other" not found' },
  },
  'a pod of another namespace': {
    ask: (client, signal) => client.stop({ name: 'hello', namespace: 'z' }, undefined, signal),
    error: { code: 'NotFound', message: 'pods "hello" not found' },
  },
  'an unknown container': {
    ask: (client, signal) => client.logs({ ...logs, container: 'db' }, signal),
    error: { code: 'NotFound', message: 'container db not found in pod hello-box; it has: web' },
  },
  'the log of a container that has not started': {
    ask: (client, signal) => client.logs(logs, signal),
    error: { code: 'BadRequest', message: 'container "web" in pod "hello-box" is waiting to start: ErrImagePull' },
  },
  'the log of a container that never was': {
    ask: (client, signal) => client.logs({ ...logs, previous: true }, signal),
    error: { code: 'BadRequest', message: 'previous terminated container "web" in pod "hello-box" not found' },
  },
  'exec in a container that does not run': {
    ask: (client, signal) => client.exec({ ...exec, pod: hello }, signal),
    error: { code: 'Conflict', message: 'container "web" in pod "hello-box" is not running: ErrImagePull' },
  },
  'exec without a command': {
    ask: (client, signal) => client.exec({ ...exec, pod: hello, command: [] }, signal),
    error: { code: 'BadRequest', message: 'you must specify at least one command' },
  },
  'the end of an agent whose pods are to live on': {
    ask: (client, signal) => client.shutdown(undefined, signal),
    error: { code: 'Conflict', message: 'this agent leaves its pods running when it ends; name the pods to stop' },
  },
};

const REJECTED = {
  phase: 'Failed',
  reason: 'OutOfcpu',
  message: "Pod was rejected: Node didn't have enough resource: cpu",
};
const ended: Record<string, { status: PodStatus; says: string }> = {
  'a rejected pod': {
    status: REJECTED,
    says: `pod "hello-box" was rejected by this node: OutOfcpu: Node didn't have enough resource: cpu`,
  },
  'an evicted pod': {
    status: { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' },
    says: 'pod "hello-box" has ended (Failed): Evicted: The node was low on resource: memory.',
  },
  'a pod that is done': { status: { phase: 'Succeeded' }, says: 'pod "hello-box" has ended (Succeeded)' },
};

for (const [name, { status, says }] of Object.entries(ended)) {
  test(`the local API rejects exec and logs of ${name}`, async (t) => {
    const { view, client } = await setUp(t, 'in memory');
    view.show(reportOf(staticPod(), { worker: 'finished', status }));
    await assert.rejects(client.exec({ ...exec, pod: hello }, t.signal), { code: 'Conflict', message: says });
    await assert.rejects(client.logs(logs, t.signal), { code: 'Conflict', message: says });
  });
}

for (const [name, { ask, error }] of Object.entries(errors)) {
  test(`the local API rejects ${name}`, async (t) => {
    const { view, client } = await setUp(t, 'in memory');
    const state = { waiting: { reason: 'ErrImagePull' } };
    const container = { name: 'web', image: '', imageID: '', ready: false, restartCount: 0, state };
    view.show(reportOf(staticPod(), { status: { containerStatuses: [container] } }));
    await assert.rejects(ask(client, t.signal), error);
  });
}
