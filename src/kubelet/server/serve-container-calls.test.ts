import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseTime } from '../../base/rfc3339.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { ServerResponse } from '../../host/network.ts';
import { observedOf, reportOf, runningContainer, ScriptedView, staticPod } from '../local-api/fake/scripted-view.ts';
import { debugDepsOf } from './debug-deps.fixture.ts';
import type { HttpError } from './responses.ts';
import { serveCheckpoint, serveRun } from './serve-container-calls.ts';

const never = new AbortController().signal;
const TARGET = { namespace: 'default', pod: 'hello-box', container: 'web' };
const bytes = (text: string) => new TextEncoder().encode(text);

function setUp(runtime: Partial<Pick<RuntimeService, 'execSync' | 'checkpointContainer'>> = {}) {
  const host = createMemoryHost({ startMs: parseTime('2026-11-18T00:00:00Z') });
  const view = new ScriptedView();
  const pod = staticPod();
  view.show(reportOf(pod, { observed: observedOf(pod, [runningContainer('c1', 'web', '/log')]) }));
  const { calls } = debugDepsOf({ host, view, runtime });
  const run = (query: string, target = TARGET) => answer(serveRun(calls, target, new URLSearchParams(query), never));
  const checkpoint = (query: string, target = TARGET) =>
    answer(serveCheckpoint(calls, target, new URLSearchParams(query), never));
  return { ...host, run, checkpoint };
}

/** Status and body. */
async function answer(response: Promise<ServerResponse>): Promise<readonly [number, string]> {
  try {
    const { status, body } = await response;
    const chunks = typeof body === 'string' ? [body] : await Array.fromAsync(body);
    return [status, Buffer.concat(chunks.map((chunk) => Buffer.from(chunk))).toString()];
  } catch (error) {
    const { status, message } = error as HttpError;
    return [status, message];
  }
}

test('/run splits the command at spaces, and answers with both outputs', async () => {
  const requests: unknown[] = [];
  const { run } = setUp({
    execSync: async (request) => {
      requests.push(request);
      return { exitCode: 0, stdout: bytes('out'), stderr: bytes('err') };
    },
  });
  assert.deepEqual(await run('cmd=echo+a++b'), [200, 'outerr']);
  assert.deepEqual(requests, [{ containerId: 'c1', cmd: ['echo', 'a', '', 'b'], timeout: 0n }]);
});

const failing = (error: Error) => ({ execSync: async () => Promise.reject(error) });
const RUNS: Readonly<
  Record<string, { readonly world: ReturnType<typeof setUp>; target?: typeof TARGET; expected: [number, string] }>
> = {
  'a command that fails': {
    world: setUp({ execSync: async () => ({ exitCode: 3, stdout: bytes('x'), stderr: bytes('no\n') }) }),
    expected: [500, "command 'a b' exited with 3: no\n"],
  },
  'a runtime that fails': {
    world: setUp(failing(new CriError('Unknown', 'failed to exec'))),
    expected: [500, 'rpc error: code = Unknown desc = failed to exec'],
  },
  'a command that takes too long': {
    world: setUp(failing(new CriError('DeadlineExceeded', 'x'))),
    expected: [500, 'command timed out: "a b" timed out after 0s'],
  },
  'another container': {
    world: setUp(),
    target: { ...TARGET, container: 'none' },
    expected: [500, 'container not found ("none")'],
  },
  'another pod': { world: setUp(), target: { ...TARGET, pod: 'none' }, expected: [404, 'pod does not exist'] },
};

for (const [name, { world, target, expected }] of Object.entries(RUNS)) {
  test(`/run of ${name}`, async () => assert.deepEqual(await world.run('cmd=a+b', target), expected));
}

test('/checkpoint names the archive that the runtime has written', async () => {
  const requests: unknown[] = [];
  const { checkpoint, fs } = setUp({
    checkpointContainer: async (request) => {
      requests.push(request);
      return {};
    },
  });
  const location = '/var/lib/kubelet/checkpoints/checkpoint-hello-box_default-web-2026-11-18T00:00:00Z.tar';
  assert.deepEqual(await checkpoint(''), [200, `{"items":["${location}"]}`]);
  assert.deepEqual(await checkpoint('timeout=1&timeout=300'), [200, `{"items":["${location}"]}`]);
  assert.deepEqual(requests, [
    { containerId: 'c1', location, timeout: 120n },
    { containerId: 'c1', location, timeout: 300n },
  ]);
  assert.equal((await fs.stat('/var/lib/kubelet/checkpoints'))?.mode, 0o700);
});

const unimplemented = new CriError('Unimplemented', 'checkpoint is not possible here: criu is not installed');
const CHECKPOINTS: Readonly<Record<string, { query?: string; target?: typeof TARGET; expected: [number, string] }>> = {
  'a container where criu is missing': {
    expected: [
      500,
      'checkpointing of default/hello-box/web failed (rpc error: code = Unimplemented desc = checkpoint is not possible here: criu is not installed)',
    ],
  },
  'a pod that does not exist': { target: { ...TARGET, pod: 'none' }, expected: [404, 'pod does not exist'] },
  'a container that does not exist': {
    target: { ...TARGET, container: 'none' },
    expected: [404, 'container none does not exist'],
  },
  'a timeout that is no number': { query: 'timeout=x', expected: [404, 'cannot parse value of timeout parameter'] },
  'a timeout that is too large': {
    query: 'timeout=9223372036854775808',
    expected: [404, 'cannot parse value of timeout parameter'],
  },
  'a negative timeout': {
    query: 'timeout=-1',
    expected: [
      500,
      'checkpointing of default/hello-box/web failed (CheckpointContainer requires the timeout value to be > 0)',
    ],
  },
};

for (const [name, { query = '', target, expected }] of Object.entries(CHECKPOINTS)) {
  test(`/checkpoint of ${name}`, async () => {
    const { checkpoint } = setUp({ checkpointContainer: async () => Promise.reject(unimplemented) });
    assert.deepEqual(await checkpoint(query, target), expected);
  });
}
