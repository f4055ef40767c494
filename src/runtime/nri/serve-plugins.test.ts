import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemoryHost } from '../../host/fake/memory-host.ts';
import { MemoryPlugin, type PluginBehaviour } from './fake/memory-plugin.ts';
import { startNri } from './fake/nri-world.ts';
import { sampleSandbox } from './fake/sample-records.ts';

const never = new AbortController().signal;
const pod = sampleSandbox();

/** Installs a plugin program that registers; returns its running instances. */
async function install(host: MemoryHost, name: string, behaviour: PluginBehaviour = {}, mode = 0o755) {
  const started: {
    readonly plugin: MemoryPlugin;
    readonly env: Readonly<Record<string, string>>;
    exit(code: number): void;
  }[] = [];
  await host.fs.makeDirectory('/opt/nri/plugins');
  await host.fs.writeFile(`/opt/nri/plugins/${name}`, '', { mode });
  host.connectedPrograms.programs.set(`/opt/nri/plugins/${name}`, async (stream, env) => {
    const plugin = new MemoryPlugin(stream, behaviour);
    const exit = Promise.withResolvers<number>();
    started.push({ plugin, env, exit: exit.resolve });
    await plugin.register('its own idea', 'of a name');
    return exit.promise;
  });
  return started;
}

test('plugins of the directory are started with their names, and receive all events', async (t) => {
  const seen: string[] = [];
  const configure = ({ config }: { config: string }) => {
    seen.push(config);
    return {};
  };
  let started: Awaited<ReturnType<typeof install>> = [];
  const { nri } = await startNri(t, {}, async ({ host }) => {
    started = await install(host, '10-own', { configure });
    await install(host, '20-shared', { configure });
    await install(host, '30-bare', { configure });
    await host.fs.makeDirectory('/etc/nri/conf.d');
    await host.fs.writeFile('/etc/nri/conf.d/10-own.conf', 'mine');
    await host.fs.writeFile('/etc/nri/conf.d/own.conf', 'of all of this name');
    await host.fs.writeFile('/etc/nri/conf.d/shared.conf', 'shared');
  });
  await nri.runPodSandbox(pod, never);
  assert.deepEqual(new Set(seen), new Set(['', 'mine', 'shared']));
  assert.deepEqual(started[0]?.env, { NRI_PLUGIN_NAME: 'own', NRI_PLUGIN_IDX: '10', NRI_PLUGIN_SOCKET: '3' });
  assert.deepEqual(started[0]?.plugin.calls, ['configure', 'synchronize', 'runPodSandbox p1']);
});

test('requests wait until the plugins of the directory have started', async (t) => {
  const up = Promise.withResolvers<Record<string, never>>();
  let started: Awaited<ReturnType<typeof install>> = [];
  const { nri } = await startNri(t, {}, async ({ host }) => {
    started = await install(host, '10-slow', { configure: () => up.promise });
  });
  const run = nri.runPodSandbox(pod, never);
  up.resolve({});
  await run;
  assert.deepEqual(started[0]?.plugin.calls, ['configure', 'synchronize', 'runPodSandbox p1']);
});

test('files that are not plugins are ignored', async (t) => {
  const { logged } = await startNri(t, {}, async ({ host }) => {
    await install(host, 'README.md', {}, 0o644);
    await install(host, 'nameless');
    await install(host, '1-short');
  });
  assert.deepEqual(logged, [
    'ignored NRI plugin /opt/nri/plugins/1-short',
    'ignored NRI plugin /opt/nri/plugins/nameless',
  ]);
});

test('a plugin that exits is restarted with a growing back-off', async (t) => {
  let started: Awaited<ReturnType<typeof install>> = [];
  const { nri, host, logged } = await startNri(t, {}, async ({ host }) => {
    started = await install(host, '10-example');
  });
  started[0]?.plugin.close();
  started[0]?.exit(1);
  await host.clock.advance(999);
  assert.equal(started.length, 1);
  await host.clock.advance(200);
  assert.equal(started.length, 2);
  started[1]?.plugin.close();
  await host.clock.advance(1900);
  assert.equal(started.length, 2);
  await host.clock.advance(400);
  await nri.runPodSandbox(pod, never);
  assert.deepEqual(started[2]?.plugin.calls, ['configure', 'synchronize', 'runPodSandbox p1']);
  assert.equal(logged.filter((line) => line === 'NRI plugin ended /opt/nri/plugins/10-example').length, 2);
});

test('a plugin that does not start delays the others no longer than its time-out', async (t) => {
  const { nri, host, logged } = await startNri(t, {}, async ({ host }) => {
    await install(host, '10-mute');
    host.connectedPrograms.programs.set('/opt/nri/plugins/10-mute', () => new Promise(() => {}));
  });
  await host.clock.runUntil(nri.runPodSandbox(pod, never));
  assert.equal(host.clock.monotonic(), 5000);
  assert.deepEqual(logged, ['NRI plugin did not start /opt/nri/plugins/10-mute']);
});

test('plugins of the directory are notified of the shutdown, then killed', async (t) => {
  let started: Awaited<ReturnType<typeof install>> = [];
  const { end, running } = await startNri(t, {}, async ({ host }) => {
    started = await install(host, '10-example');
  });
  end.abort();
  await running;
  assert.deepEqual(started[0]?.plugin.calls, ['configure', 'synchronize', 'shutdown']);
  await started[0]?.plugin.closed;
});

test('a socket in use is not taken over, and the callers get an error', async (t) => {
  const first = await startNri(t);
  await first.nri.listening;
  const { nri, running } = await startNri(t, { network: first.host.network, fs: first.host.fs });
  const expected = { name: 'NriSocketError', message: /^cannot serve NRI at \/run\/nri\/nri\.sock: another process / };
  await assert.rejects(running, expected);
  await assert.rejects(nri.listening, expected);
});
