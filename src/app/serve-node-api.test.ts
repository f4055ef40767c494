import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../base/log.ts';
import { UnhandledErrors } from '../base/unhandled-errors.ts';
import { createFakeRuntime } from '../cri/fake/fake-runtime.ts';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import { ScriptedView } from '../kubelet/local-api/fake/scripted-view.ts';
import { NodeCache } from '../kubelet/node/node-cache.ts';
import { emptyMetrics } from '../kubelet/server/served-metrics.fixture.ts';
import { ScriptedStats } from '../kubelet/stats/fake/scripted-stats.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { serveNodeApi } from './serve-node-api.ts';

const ADDRESS = { host: '127.0.0.1', port: 1234 };

async function setUp(...flags: readonly string[]) {
  const host = createMemoryHost();
  const life = new AbortController();
  const given = [`--address=${ADDRESS.host}`, `--port=${ADDRESS.port}`, ...flags];
  const { settings } = await loadKubeletConfig(given, { fs: host.fs, hostname: 'box' }, life.signal);
  const { runtime } = createFakeRuntime(host).cri;
  const syncLoopUnhealthyReason = () => 'it hangs';
  const view = new ScriptedView();
  const devicePluginUnhealthyReason = () => undefined;
  const health = { syncLoopUnhealthyReason, devicePluginUnhealthyReason };
  const process = { version: '0' };
  const metrics = emptyMetrics();
  const parts = { host, view, runtime, process, metrics, stats: new ScriptedStats(), ...health, cluster: undefined };
  const listening = Promise.withResolvers<void>();
  let nextError: Error | undefined;
  const fail = (): void => {
    const error = nextError;
    nextError = undefined;
    if (error) throw error;
  };
  const log = { ...silentLog, info: () => listening.resolve(), error: fail };
  const failNextError = (error: Error): void => {
    nextError = error;
  };
  const unhandled = new UnhandledErrors({ clock: host.clock, log });
  const run = () => serveNodeApi(settings, { ...parts, log, unhandled, ownNode: new NodeCache('box') }, life.signal);
  return { ...host, life, unhandled, failNextError, run, listening: listening.promise };
}

test('serveNodeApi() listens on the configured address until the signal aborts', async () => {
  const { run, life, listening, network } = await setUp();
  const served = run();
  await listening;
  await assert.rejects(network.serveTls(ADDRESS, {}, unexpected), { code: 'EADDRINUSE' });
  life.abort();
  await served;
  await (await network.serveTls(ADDRESS, {}, unexpected)).close();
});

test('serveNodeApi() reports an unhealthy sync loop', async () => {
  const { run, life, listening, network, fs } = await setUp('--anonymous-auth', '--authorization-mode=AlwaysAllow');
  const served = run();
  await listening;
  const tls = { authorities: [await fs.readText('/var/lib/kubelet/pki/kubelet.crt')], serverName: 'box' };
  const request = { target: ADDRESS, scheme: 'https', tls, method: 'GET', path: '/healthz/syncloop' } as const;
  const { status, body } = await network.request(request, life.signal);
  assert.equal(status, 500);
  assert.equal(Buffer.concat(await Array.fromAsync(body)).toString(), 'internal server error: it hangs\n');
  life.abort();
  await served;
});

test('serveNodeApi() listens again after a failure, and reports it until it has run for a while', async () => {
  const flags = ['--anonymous-auth', '--authorization-mode=AlwaysAllow', '--client-ca-file=/pki/ca.crt'];
  const { run, life, listening, network, fs, clock, unhandled, failNextError } = await setUp(...flags);
  const writeAuthorities = async (): Promise<void> => {
    await fs.makeDirectory('/pki');
    await fs.writeFile('/pki/ca.crt', '');
  };
  await writeAuthorities();
  const served = run();
  await listening;
  await clock.advance(0);
  failNextError(new TypeError('a bug'));
  await fs.removeTree('/pki'); // the end of its watch is logged, and the log throws
  await clock.advance(0);
  await writeAuthorities();
  assert.equal(unhandled.failedParts(), 'kubelet API has failed: a bug');
  await (await network.serveTls(ADDRESS, {}, unexpected)).close(); // the port is free meanwhile
  await clock.advance(1_000);
  const tls = { authorities: [await fs.readText('/var/lib/kubelet/pki/kubelet.crt')], serverName: 'box' };
  const ask = async (path: string): Promise<string> => {
    const request = { target: ADDRESS, scheme: 'https', tls, method: 'GET', path } as const;
    const { body } = await network.request(request, life.signal);
    return Buffer.concat(await Array.fromAsync(body)).toString();
  };
  const excluded = 'exclude=syncloop&exclude=unhandled-errors';
  assert.match(await ask(`/healthz?${excluded}`), /^\[-\]parts failed: reason withheld$/m);
  assert.equal(await ask('/healthz/unhandled-errors'), 'internal server error: kubelet API: a bug\n');
  await clock.advance(30_000);
  assert.equal(await ask(`/healthz?${excluded}`), 'ok');
  life.abort();
  await served;
});

test('serveNodeApi() does not listen if the server is disabled', async () => {
  const { run, network, fs } = await setUp('--enable-server=false');
  await run();
  await (await network.serveTls(ADDRESS, {}, unexpected)).close();
  assert.equal(await fs.stat('/var/lib/kubelet/pki'), undefined);
});

test('serveNodeApi() rejects with the address and the cause when it cannot listen', async () => {
  const taken = await setUp();
  await taken.network.serveTls(ADDRESS, {}, unexpected);
  await assert.rejects(taken.run(), {
    name: 'StartupError',
    message: /^cannot serve the API of the node on 127\.0\.0\.1:1234: .* is taken$/,
  });
  const missing = await setUp('--tls-cert-file=/pki/a.crt', '--tls-private-key-file=/pki/a.key');
  await assert.rejects(missing.run(), { name: 'StartupError', message: /127\.0\.0\.1:1234: .*\/pki\/a\.crt/ });
});

async function unexpected(): Promise<never> {
  throw new Error('unexpected request');
}
