import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A new ext4 in a file, as the place for temporary files from here on. What was removed lately slows down an ext4 without a
 * journal, and others who write to the same disk make whoever syncs it wait: neither is to be measured.
 */
export function ownDisk(gigabytes: number): Disposable {
  const folder = mkdtempSync(join(tmpdir(), 'nlb-'));
  const [file, mount] = [join(folder, 'disk'), join(folder, 'd')];
  writeFileSync(file, '');
  truncateSync(file, gigabytes * 2 ** 30);
  execFileSync('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', file]);
  execFileSync('mkdir', [mount]);
  execFileSync('mount', ['-o', 'loop', file, mount]);
  process.env['TMPDIR'] = mount;
  return {
    [Symbol.dispose]() {
      execFileSync('umount', ['--lazy', mount]); // what was killed may still be on its way out
      rmSync(folder, { recursive: true });
    },
  };
}
