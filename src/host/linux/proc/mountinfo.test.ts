import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MountEntry } from '../../mounts.ts';
import { parseMountinfo } from './mountinfo.ts';

const whole = { device: '0:9', root: '/', propagation: 'private' } as const;

const lines: Record<string, { line: string; entries: MountEntry[] }> = {
  'reads a line without optional fields': {
    line: '27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard',
    entries: [{ source: '/dev/vda', target: '/', type: 'ext4', readOnly: false, ...whole, device: '254:0' }],
  },
  'reads a line with several': {
    line: '36 35 98:0 /mnt1 /mnt2 rw,noatime shared:5 master:1 unbindable - ext3 /dev/root rw,errors=continue',
    entries: [
      {
        source: '/dev/root',
        target: '/mnt2',
        type: 'ext3',
        readOnly: false,
        device: '98:0',
        root: '/mnt1',
        propagation: 'shared',
      },
    ],
  },
  'reads a slave': {
    line: '36 35 0:9 / /m rw master:1 - tmpfs tmpfs rw',
    entries: [{ source: 'tmpfs', target: '/m', type: 'tmpfs', readOnly: false, ...whole, propagation: 'slave' }],
  },
  'reads a read-only mount': {
    line: '36 35 0:9 / /m ro,noatime - tmpfs tmpfs rw',
    entries: [{ source: 'tmpfs', target: '/m', type: 'tmpfs', readOnly: true, ...whole }],
  },
  'reads a mount of a read-only filesystem': {
    line: '36 35 0:9 / /m rw - squashfs /dev/loop0 ro,errors=continue',
    entries: [{ source: '/dev/loop0', target: '/m', type: 'squashfs', readOnly: true, ...whole }],
  },
  'does not take errors=remount-ro for read-only': {
    line: '27 1 254:0 / / rw - ext4 /dev/vda rw,errors=remount-ro',
    entries: [{ source: '/dev/vda', target: '/', type: 'ext4', readOnly: false, ...whole, device: '254:0' }],
  },
  'unescapes space, tab, line end and backslash': {
    line: '36 35 0:9 / /a\\040b\\011c\\012d\\134e rw - tmpfs my\\040tmpfs rw',
    entries: [{ source: 'my tmpfs', target: '/a b\tc\nd\\e', type: 'tmpfs', readOnly: false, ...whole }],
  },
  'does not unescape twice': {
    line: '36 35 0:9 / /a\\134040b rw - tmpfs tmpfs rw',
    entries: [{ source: 'tmpfs', target: '/a\\040b', type: 'tmpfs', readOnly: false, ...whole }],
  },
  'reads a mount that is named like the separator': {
    line: '36 35 0:9 / - rw - tmpfs - rw',
    entries: [{ source: '-', target: '-', type: 'tmpfs', readOnly: false, ...whole }],
  },
  'skips malformed lines': { line: 'garbage', entries: [] },
};

for (const [name, { line, entries }] of Object.entries(lines)) {
  test(`parseMountinfo() ${name}`, () => {
    assert.deepEqual(parseMountinfo(`${line}\n`), entries);
  });
}
