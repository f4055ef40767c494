/** Kubelet's flags and fields as settings of the garbage collectors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentSettings } from '../../src/app/agent-settings.ts';
import { loadKubeletConfig } from '../../src/app/config/load-config.ts';
import { notHonoured } from '../../src/app/config/not-honoured.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';

const MACHINE = { hostname: 'box', addresses: ['192.0.2.1'], memoryBytes: 2 ** 30 };

async function settingsOf(...flags: string[]) {
  const { fs } = createMemoryHost();
  const { settings } = await loadKubeletConfig(flags, { fs, hostname: 'box' }, new AbortController().signal);
  assert.deepEqual(notHonoured(settings.config), []);
  const { unusedImages, deadContainers } = agentSettings(settings, MACHINE);
  return { unusedImages, deadContainers };
}

test("kubelet's defaults", async () => {
  assert.deepEqual(await settingsOf(), {
    unusedImages: { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000, maximumAgeMs: 0 },
    deadContainers: { minimumAgeMs: 0, maxPerContainer: 1, maxTotal: undefined },
  });
});

test('other limits', async () => {
  const settings = await settingsOf(
    '--image-gc-high-threshold=60',
    '--image-gc-low-threshold=50',
    '--minimum-image-ttl-duration=1m',
    '--minimum-container-ttl-duration=30s',
    '--maximum-dead-containers-per-container=-1',
    '--maximum-dead-containers=100',
  );
  assert.deepEqual(settings, {
    unusedImages: { highPercent: 60, lowPercent: 50, minimumAgeMs: 60_000, maximumAgeMs: 0 },
    deadContainers: { minimumAgeMs: 30_000, maxPerContainer: undefined, maxTotal: 100 },
  });
});
