import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { KernelVersion } from './host-facts.ts';
import { readSwapFacts, type SwapFacts } from './swap-facts.ts';

const HEADER = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';
const ALL_IDS = '         0          0 4294967295\n';
const NEW = { major: 6, minor: 4 };
const OLD = { major: 5, minor: 14 };

interface Case {
  readonly swaps?: string;
  readonly uidMap?: string;
  readonly kernel: KernelVersion;
  /** The kernel does not know the option. */
  readonly isRefused?: boolean;
  readonly facts: SwapFacts;
}

const cases: Readonly<Record<string, Case>> = {
  'a machine without swap': { swaps: HEADER, kernel: NEW, facts: { isOn: false, tmpfsNoswap: true } },
  'a machine with swap': {
    swaps: `${HEADER}/dev/zram0 partition 1 0 100\n`,
    kernel: NEW,
    facts: { isOn: true, tmpfsNoswap: true },
  },
  'a kernel without swap': { kernel: NEW, facts: { isOn: false, tmpfsNoswap: true } },
  'a user namespace': { uidMap: '0 1000 65536\n', kernel: NEW, facts: { isOn: false, tmpfsNoswap: false } },
  'an older kernel': { kernel: OLD, isRefused: true, facts: { isOn: false, tmpfsNoswap: false } },
  'an older kernel with the option': { kernel: OLD, facts: { isOn: false, tmpfsNoswap: true } },
  'an unknown kernel': { kernel: { major: 0, minor: 0 }, facts: { isOn: false, tmpfsNoswap: false } },
};

for (const [name, { swaps, uidMap = ALL_IDS, kernel, isRefused = false, facts }] of Object.entries(cases)) {
  test(`readSwapFacts() of ${name}`, async () => {
    const { fs, mounts } = createMemoryHost();
    await fs.makeDirectory('/proc/self');
    await fs.makeDirectory('/agent');
    await fs.writeFile('/proc/self/uid_map', uidMap);
    if (swaps !== undefined) await fs.writeFile('/proc/swaps', swaps);
    if (isRefused) mounts.errors.failNext('mount', 'EINVAL');
    assert.deepEqual(await readSwapFacts({ fs, mounts }, kernel, '/agent'), facts);
    assert.deepEqual(await fs.readDirectory('/agent'), []);
    assert.ok((await mounts.list()).every(({ target }) => !target.startsWith('/agent')));
  });
}
