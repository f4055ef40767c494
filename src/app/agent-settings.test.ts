import assert from 'node:assert/strict';
import test from 'node:test';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import type { AgentSettings } from './agent.ts';
import { agentSettings } from './agent-settings.ts';
import { loadKubeletConfig } from './config/load-config.ts';

async function settingsOf(...flags: string[]): Promise<AgentSettings> {
  const { fs } = createMemoryHost();
  const { settings } = await loadKubeletConfig(flags, { fs, hostname: 'box' }, new AbortController().signal);
  return agentSettings(settings, { hostname: 'box', memoryBytes: 2 ** 30, addresses: [] });
}

test("agentSettings() has kubelet's defaults for image pulls", async () => {
  const { rate, verification, providers } = (await settingsOf()).imagePulls;
  assert.deepEqual(
    { rate, verification, providers },
    {
      rate: { qps: 5, burst: 10 },
      verification: { kind: 'NeverVerifyPreloadedImages' },
      providers: undefined,
    },
  );
});

test('agentSettings() reads the flags of image pulls', async () => {
  const { rate, verification, providers } = (
    await settingsOf(
      '--registry-qps=7',
      '--registry-burst=3',
      '--image-credential-provider-config=/etc/providers',
      '--image-credential-provider-bin-dir=/opt/bin',
      '--feature-gates=KubeletEnsureSecretPulledImages=false',
    )
  ).imagePulls;
  assert.deepEqual(
    { rate, verification, providers },
    {
      rate: { qps: 7, burst: 3 },
      verification: undefined,
      providers: { config: '/etc/providers', binDir: '/opt/bin' },
    },
  );
});

test('agentSettings() has MemoryQoS only with its feature gate', async () => {
  assert.equal((await settingsOf()).memoryQos, undefined);
  const reserved = [
    '--system-reserved=memory=100Mi',
    '--kube-reserved=memory=24Mi',
    '--eviction-hard=memory.available<1Gi',
  ];
  assert.deepEqual((await settingsOf('--feature-gates=MemoryQoS=true', ...reserved)).memoryQos, {
    throttlingFactor: 0.9,
    reservationPolicy: 'None',
    allocatableBytes: 900 * 2 ** 20,
  });
});
