import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { OciHook } from './oci-spec.ts';
import { runPostStartHooks } from './post-start-hooks.ts';

const CONTAINER = { id: 'c1', bundle: '/state/containers/c1' };
const STATE = { ociVersion: '1.1.0', id: 'c1', status: 'running', pid: 7, bundle: '/state/containers/c1' };
const never = new AbortController().signal;

/** Hooks `/good`, `/bad`, `/mute`, `/slow`; `ran` has their inputs. */
function hookWorld() {
  const host = createMemoryHost();
  const ran: unknown[] = [];
  host.processes.install('/good', async ({ args, env, cwd, input }) => {
    ran.push({ args, env, cwd, state: JSON.parse(new TextDecoder().decode(input)) as unknown });
    return 0;
  });
  host.processes.install('/bad', async (context) => {
    context.stderr('it broke\n');
    return 3;
  });
  host.processes.install('/mute', async () => 3);
  host.processes.install('/slow', () => new Promise(() => {}));
  const run = (poststart: readonly OciHook[], signal = never): Promise<void> =>
    runPostStartHooks(CONTAINER, 7, { ociVersion: '1.1.0', hooks: { poststart } }, host, signal);
  return { host, ran, run };
}

test('hooks run in the bundle, in order, with the state as input', async () => {
  const { ran, run } = hookWorld();
  await run([{ path: '/good' }, { path: '/good', args: ['good', '-v', 'x'], env: ['A=1', 'B=2=3', 'C='] }]);
  const cwd = CONTAINER.bundle;
  assert.deepEqual(ran, [
    { args: [], env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }, cwd, state: STATE },
    { args: ['-v', 'x'], env: { A: '1', B: '2=3', C: '' }, cwd, state: STATE },
  ]);
});

const failures: Record<string, { hook: OciHook; message: string }> = {
  'fails with a message': { hook: { path: '/bad' }, message: 'poststart hook #1 (/bad): it broke' },
  'fails without a message': {
    hook: { path: '/mute' },
    message: 'poststart hook #1 (/mute): exited with code 3 without a message',
  },
  'is missing': { hook: { path: '/none' }, message: 'poststart hook #1 (/none): start /none: ENOENT' },
  'times out': { hook: { path: '/slow', timeout: 2 }, message: 'poststart hook #1 (/slow): timed out after 2 s' },
};

for (const [name, { hook, message }] of Object.entries(failures)) {
  test(`a hook that ${name} ends the sequence`, async () => {
    const { host, ran, run } = hookWorld();
    const running = assert.rejects(run([{ path: '/good' }, hook, { path: '/good' }]), { name: 'OciError', message });
    await host.clock.advance(2_000);
    await running;
    assert.equal(ran.length, 1);
  });
}

test('an abort rejects with its reason', async () => {
  const { run } = hookWorld();
  const controller = new AbortController();
  const running = assert.rejects(run([{ path: '/slow', timeout: 2 }], controller.signal), { message: 'enough' });
  controller.abort(new Error('enough'));
  await running;
});
