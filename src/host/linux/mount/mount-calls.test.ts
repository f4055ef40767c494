import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MountRequest } from '../../mounts.ts';
import { type MountCall, mountCalls } from './mount-calls.ts';

const [RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND, REC] = [1, 2, 4, 8, 32, 4096, 16_384];
const [PRIVATE, SLAVE, SHARED] = [1 << 18, 1 << 19, 1 << 20];

const plain: MountCall = { source: '/s', target: '/t', type: null, flags: 0, data: null };

const requests: Record<string, { given: Partial<MountRequest>; calls: Partial<MountCall>[] }> = {
  'mounts a file system with its options in one call': {
    given: { type: 'tmpfs', data: 'size=1m', flags: ['noSuid', 'noDev', 'noExec', 'readOnly'] },
    calls: [{ type: 'tmpfs', data: 'size=1m', flags: NOSUID | NODEV | NOEXEC | RDONLY }],
  },
  'binds in one call': { given: { flags: ['bind'] }, calls: [{ flags: BIND }] },
  'binds a whole tree': { given: { flags: ['rbind'] }, calls: [{ flags: BIND | REC }] },
  'gives a bind mount its attributes in a second call': {
    given: { flags: ['rbind', 'readOnly', 'noSuid'] },
    calls: [{ flags: BIND | REC }, { flags: REMOUNT | BIND | RDONLY | NOSUID }],
  },
  'changes propagation last, and alone': {
    given: { flags: ['rslave', 'bind', 'readOnly'] },
    calls: [{ flags: BIND }, { flags: REMOUNT | BIND | RDONLY }, { flags: SLAVE | REC }],
  },
  'changes nothing but propagation': { given: { flags: ['rshared'] }, calls: [{ flags: SHARED | REC }] },
  'makes a mount private without its children': { given: { flags: ['private'] }, calls: [{ flags: PRIVATE }] },
  'remounts a bind mount in one call': {
    given: { flags: ['remount', 'bind', 'readOnly'] },
    calls: [{ flags: REMOUNT | BIND | RDONLY }],
  },
};

for (const [name, { given, calls }] of Object.entries(requests)) {
  test(`mountCalls() ${name}`, () => {
    const expected = calls.map((call) => ({ ...plain, ...call }));
    assert.deepEqual(mountCalls({ source: '/s', target: '/t', ...given }), expected);
  });
}
