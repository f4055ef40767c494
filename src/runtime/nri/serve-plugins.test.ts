import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MemoryHost } from '../../host/fake/memory-host.ts';
import { MemoryPlugin, type PluginBehaviour } from './fake/memory-plugin.ts';
import { startNri } from './fake/nri-world.ts';
import { sampleSandbox } from './fake/sample-records.ts';

const never = new AbortController().signal;
const pod = sampleSandbox();

/** Puts a program into the plugins' folder that registers; returns what runs of it. */
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

test('plugins of the folder are started with their names, and hear of everything from the first on', async (t) => {
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

test('requests wait until the plugins of the folder are up', async (t) => {
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

test('what is no plugin is left out', async (t) => {
  const { logged } = await startNri(t, {}, async ({ host }) => {
    await install(host, 'README.md', {}, 0o644);
    await install(host, 'nameless');
    await install(host, '1-short');
  });
  assert.deepEqual(logged, [
    'left NRI plugin out /opt/nri/plugins/1-short',
    'left NRI plugin out /opt/nri/plugins/nameless',
  ]);
});

test('a plugin that ends is started again after a pause that grows', async (t) => {
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

test('a plugin that does not come up keeps the others waiting no longer than its time-out', async (t) => {
  const { nri, host, logged } = await startNri(t, {}, async ({ host }) => {
    await install(host, '10-mute');
    host.connectedPrograms.programs.set('/opt/nri/plugins/10-mute', () => new Promise(() => {}));
  });
  await host.clock.runUntil(nri.runPodSandbox(pod, never));
  assert.equal(host.clock.monotonic(), 5000);
  assert.deepEqual(logged, ['NRI plugin did not start /opt/nri/plugins/10-mute']);
});

test('plugins of the folder are told the end, and are killed then', async (t) => {
  let started: Awaited<ReturnType<typeof install>> = [];
  const { end, running } = await startNri(t, {}, async ({ host }) => {
    started = await install(host, '10-example');
  });
  end.abort();
  await running;
  assert.deepEqual(started[0]?.plugin.calls, ['configure', 'synchronize', 'shutdown']);
  await started[0]?.plugin.closed;
});

test('a socket that somebody listens on is not taken from him, and that is told to who waits for it', async (t) => {
  const first = await startNri(t);
  await first.nri.listening;
  const { nri, running } = await startNri(t, { network: first.host.network, fs: first.host.fs });
  const refused = { name: 'NriSocketError', message: /^cannot serve NRI at \/run\/nri\/nri\.sock: another process / };
  await assert.rejects(running, refused);
  await assert.rejects(nri.listening, refused);
});
