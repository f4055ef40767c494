import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../host/fake/memory-host.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { requireSwapSettings } from './require-swap.ts';

const NO_SWAP = 'Filename\tType\tSize\tUsed\tPriority\n';
const SWAP = `${NO_SWAP}/swapfile file 1048576 0 -2\n`;
const REFUSED = 'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false';

interface Case {
  readonly swaps?: string;
  readonly flags?: readonly string[];
  readonly cgroupVersion?: 'v1' | 'v2';
  readonly error?: string;
  readonly logged?: readonly string[];
}

const cases: Readonly<Record<string, Case>> = {
  'starts without swap': { swaps: NO_SWAP },
  'starts on a kernel without swap': {},
  'refuses swap by default': { swaps: SWAP, error: REFUSED },
  'starts with swap if it is allowed, and pods do not use it': {
    swaps: SWAP,
    flags: ['--fail-swap-on=false'],
    logged: ['NoSwap is set due to memorySwapBehavior not specified'],
  },
  'warns about MemoryQoS with cgroup v1': {
    flags: ['--feature-gates=MemoryQoS=true'],
    cgroupVersion: 'v1',
    logged: ['the feature gate MemoryQoS has no effect with cgroup v1'],
  },
  'has nothing to say of MemoryQoS with cgroup v2': { flags: ['--feature-gates=MemoryQoS=true'] },
};

for (const [name, { swaps, flags = [], cgroupVersion = 'v2', error, logged = [] }] of Object.entries(cases)) {
  test(`requireSwapSettings() ${name}`, async () => {
    const host = createMemoryHost({ cgroupVersion });
    await host.fs.makeDirectory('/proc');
    if (swaps !== undefined) await host.fs.writeFile('/proc/swaps', swaps);
    const deps = { fs: host.fs, hostname: 'box' };
    const { settings } = await loadKubeletConfig(flags, deps, new AbortController().signal);
    const messages: string[] = [];
    const write = (message: string): void => void messages.push(message);
    const log = { debug: write, info: write, warn: write, error: write };
    const checked = requireSwapSettings(settings, host, log);
    await (error === undefined ? checked : assert.rejects(checked, { name: 'StartupError', message: error }));
    assert.deepEqual(messages, logged);
  });
}
