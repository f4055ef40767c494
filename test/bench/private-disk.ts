import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A new ext4 in a file, as the location for temporary files from here on. Recent removals slow down an ext4 without a
 * journal, and other writers delay a sync of a shared disk: neither should be measured.
 */
export function mountPrivateDisk(gigabytes: number): Disposable {
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
      execFileSync('umount', ['--lazy', mount]); // killed processes may still be exiting
      rmSync(folder, { recursive: true });
    },
  };
}
