import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import { ALL_HANDLERS } from '../kubelet/server/debug-deps.fixture.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { type KubeletServerSettings, kubeletServerSettings } from './kubelet-server.ts';

async function settingsOf(...flags: readonly string[]): Promise<KubeletServerSettings> {
  const { fs } = createMemoryHost();
  const { settings } = await loadKubeletConfig(flags, { fs, hostname: 'box' }, new AbortController().signal);
  return kubeletServerSettings(settings);
}

test("kubeletServerSettings() has kubelet's defaults", async () => {
  const { configuration: _, debug, ...settings } = await settingsOf('--kubeconfig=/k');
  assert.deepEqual(settings, {
    address: {
      address: '0.0.0.0',
      port: 10250,
      clientCaFile: undefined,
      minVersion: undefined,
      cipherSuites: undefined,
      curves: undefined,
    },
    authentication: { anonymous: false, webhookCacheTtlMs: 120_000 },
    authorization: { mode: 'Webhook', allowedTtlMs: 300_000, refusedTtlMs: 30_000 },
    splitStreams: false,
    tunnels: true,
    translatesStreams: true,
    readOnly: undefined,
  });
  const { flags, ...rest } = debug;
  assert.equal(flags['kubeconfig'], '/k');
  assert.deepEqual(rest, {
    handlers: ALL_HANDLERS,
    mayQueryLogs: false,
    checkpointFolder: '/var/lib/kubelet/checkpoints',
    runtimeTimeoutSeconds: 120,
  });
});

test('kubeletServerSettings() reads flags', async () => {
  const { address, authentication, authorization, debug, readOnly } = await settingsOf(
    '--address=127.0.0.1',
    '--port=1234',
    '--client-ca-file=/etc/ca.crt',
    '--tls-min-version=VersionTLS13',
    '--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256',
    '--anonymous-auth=true',
    '--authentication-token-webhook=false',
    '--authorization-mode=AlwaysAllow',
    '--enable-debugging-handlers=false',
    '--read-only-port=10255',
  );
  assert.deepEqual(address, {
    address: '127.0.0.1',
    port: 1234,
    clientCaFile: '/etc/ca.crt',
    minVersion: 'TLSv1.3',
    cipherSuites: ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256'],
    curves: undefined,
  });
  assert.deepEqual(authentication, { anonymous: true, webhookCacheTtlMs: undefined });
  assert.deepEqual(authorization, { mode: 'AlwaysAllow' });
  assert.equal(debug.handlers, undefined);
  assert.deepEqual(readOnly, { host: '127.0.0.1', port: 10255 });
});
