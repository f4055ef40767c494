import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FileSystemUsage } from '../../host/file-system.ts';
import { SpaceGuard } from './space-guard.ts';

const GIB = 2 ** 30;
const roomy: FileSystemUsage = {
  capacityBytes: 500 * GIB,
  availableBytes: 9 * GIB,
  usedBytes: 0,
  inodes: 1000,
  inodesFree: 500,
};

const cases: Record<string, { usage: Partial<FileSystemUsage>; take: [number, number]; error?: RegExp }> = {
  'data that fits': { usage: {}, take: [GIB, 10] },
  'data that leaves just the reserve': { usage: { availableBytes: 3 * GIB }, take: [2 * GIB, 1] },
  'data that needs the reserve': {
    usage: { availableBytes: 3 * GIB },
    take: [2 * GIB + 1, 1],
    error: /^no space left on device: \/data has 3072 MiB, of which 1024 MiB stay free$/,
  },
  'a fiftieth of a small disk': {
    usage: { capacityBytes: GIB, availableBytes: GIB / 2 },
    take: [GIB / 2 - GIB / 50 - 1, 1],
  },
  'more than a small disk has': {
    usage: { capacityBytes: GIB, availableBytes: GIB / 2 },
    take: [GIB / 2, 1],
    error: /no space left/,
  },
  'more files than a hundredth leaves': {
    usage: { inodesFree: 10 },
    take: [0, 1],
    error: /no more files fit into \/data/,
  },
  'any number of files where none are counted': { usage: { inodes: 0, inodesFree: 0 }, take: [0, 5000] },
};
for (const [name, { usage, take, error }] of Object.entries(cases)) {
  test(`SpaceGuard ${error ? 'rejects' : 'accepts'} ${name}`, async () => {
    const guard = new SpaceGuard({ usage: async () => ({ ...roomy, ...usage }) }, '/data');
    const taken = (async () => guard.reserve(...take))();
    await (error ? assert.rejects(taken, { name: 'SpaceError', message: error }) : taken);
  });
}

test('SpaceGuard checks the disk periodically, and notices what others used', async () => {
  let [checks, availableBytes] = [0, 9 * GIB];
  const usage = async () => {
    checks++;
    return { ...roomy, availableBytes };
  };
  const guard = new SpaceGuard({ usage }, '/data');
  for (let taken = 0; taken < 100; taken++) await guard.reserve(2 ** 20, 1);
  assert.equal(checks, 4);
  availableBytes = GIB;
  await assert.rejects(async () => {
    for (let taken = 0; taken < 40; taken++) await guard.reserve(2 ** 20, 1);
  }, /no space left/);
});
