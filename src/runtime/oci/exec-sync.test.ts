import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { RunningProgram } from '../../host/processes.ts';
import { execStreams } from './exec-streams.ts';
import { execSync } from './exec-sync.ts';
import type { OciDeps } from './oci-deps.ts';
import type { OciProcess } from './oci-spec.ts';

const container = { id: 'c1', bundle: '/bundle' };
const process = { terminal: false, args: ['sleep'], env: [], cwd: '/' } as unknown as OciProcess;
const never = new AbortController().signal;

/** A program that keeps running and cannot be killed. */
async function world(output: () => AsyncIterable<Uint8Array> = nothing) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/bundle');
  const exited = Promise.withResolvers<number>();
  const program: RunningProgram = {
    pid: 7,
    startTime: 7,
    stdout: output(),
    stderr: output(),
    write: async () => {},
    closeInput: () => {},
    resize: async () => {},
    exited: exited.promise,
    kill: async () => {
      throw new Error('EMFILE: too many open files');
    },
  };
  const deps = { ...host, program: '/usr/bin/crun', stateRoot: '/state', processes: { spawn: async () => program } };
  return { host, exit: exited.resolve, deps: deps as unknown as OciDeps };
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

test('execSync(): a process that cannot be killed at its time-out is a timeout error with the cause', async () => {
  const { host, deps } = await world();
  const running = execSync(container, { process, timeoutMs: 1000, maxOutputBytes: 10 }, 'e1', deps, never);
  const rejected = assert.rejects(running, {
    name: 'ExecTimeoutError',
    message: 'timeout 1s exceeded',
    cause: new Error('EMFILE: too many open files'),
  });
  await host.clock.advance(2000);
  await rejected;
  assert.deepEqual(await host.fs.readDirectory('/bundle'), []);
});

test('execSync(): a process that cannot be killed after an abort rejects with the reason of the abort', async () => {
  const { host, deps } = await world();
  const caller = new AbortController();
  const running = execSync(container, { process, maxOutputBytes: 10 }, 'e1', deps, caller.signal);
  const rejected = assert.rejects(running, { message: 'enough' });
  await host.clock.advance(10);
  caller.abort(new Error('enough'));
  await rejected;
});

test('execStreams(): a failed removal of files is ignored', async () => {
  const { host, deps, exit } = await world();
  await host.fs.writeFile('/bundle/exec-e1.pid', '7');
  await execStreams(container, process, 'e1', deps, never);
  host.fs.errors.failNext('remove', 'EIO', '/bundle/exec-e1.json');
  exit(0);
  await host.clock.advance(10); // an unhandled rejection would fail the test
  assert.deepEqual(
    (await host.fs.readDirectory('/bundle')).map(({ name }) => name),
    ['exec-e1.json'],
  );
});

async function* repeated(chunk: Uint8Array, count: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield chunk;
}

const LIMITS: Record<string, { maxStreamBytes: number; maxOutputBytes: number; kept: readonly [number, number] }> = {
  'of each stream': { maxStreamBytes: 1500, maxOutputBytes: 10_000, kept: [1500, 1500] },
  'of both streams together': { maxStreamBytes: 10_000, maxOutputBytes: 3000, kept: [1500, 1500] },
  'that the output does not reach': { maxStreamBytes: 1e6, maxOutputBytes: 1e6, kept: [5000, 5000] },
};

for (const [what, { kept, ...limits }] of Object.entries(LIMITS)) {
  test(`execSync(): a limit ${what} holds, and the memory of larger chunks is not kept`, async () => {
    const { deps, exit } = await world(() => repeated(new Uint8Array(1024 * 1024).subarray(0, 100), 50));
    const running = execSync(container, { process, ...limits }, 'e1', deps, never);
    exit(0);
    const { stdout, stderr } = await running;
    assert.deepEqual([stdout.length, stderr.length], kept);
    for (const each of [stdout, stderr]) assert.ok(each.buffer.byteLength <= 2 * 5000);
  });
}
