import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import { fullDisks } from './full-disks.ts';

const ROOMY = { capacityBytes: 2 ** 30, availableBytes: 2 ** 29, inodes: 1000, inodesFree: 500 };

const cases: Record<string, { usage: Partial<typeof ROOMY>; reasons: string[] }> = {
  'space and inodes': { usage: {}, reasons: [] },
  'no bytes': {
    usage: { availableBytes: 4096 },
    reasons: ['the disk of /m/root is full: 4.0 KiB of 1.0 GiB are free'],
  },
  'no inodes': { usage: { inodesFree: 0 }, reasons: ['the disk of /m/root is full: no more files fit into it'] },
  'inodes created on demand': { usage: { inodes: 0, inodesFree: 0 }, reasons: [] },
  'no size': { usage: { capacityBytes: 0, availableBytes: 0 }, reasons: [] },
};
for (const [what, { usage, reasons }] of Object.entries(cases)) {
  test(`fullDisks() of a file system with ${what}`, async () => {
    const { fs, mounts } = createMemoryHost();
    await fs.makeDirectory('/m');
    await mounts.mount({ source: 'tmpfs', target: '/m', type: 'tmpfs' });
    await fs.makeDirectory('/m/root');
    await fs.makeDirectory('/m/logs');
    fs.setUsage('/m', { ...ROOMY, ...usage });
    assert.deepEqual(await fullDisks(['/m/root', '/m/logs', '/missing', '/'], fs), reasons);
  });
}
