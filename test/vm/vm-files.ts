import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What scripts/vm-image.sh built. */
export interface VmFiles {
  /** The unpacked packages of QEMU. */
  readonly qemu: string;
  readonly kernel: string;
  readonly initialRamDisk: string;
  /** The guest's disk: never written to, each virtual machine has an overlay. */
  readonly disk: string;
  /** The private key that the guest's root accepts. */
  readonly key: string;
}

/** Returns why there is no virtual machine, in place of its files. */
export function findVmFiles(checkout: string): VmFiles | string {
  const folder = execFileSync(join(checkout, 'scripts/vm-image.sh'), ['--where'], { encoding: 'utf8' }).trim();
  const reason = join(folder, 'unavailable');
  if (existsSync(reason)) return readFileSync(reason, 'utf8').trim();
  if (!existsSync(join(folder, 'disk.img'))) return 'the virtual machine has not been built: run scripts/vm-image.sh';
  return {
    qemu: join(folder, 'qemu'),
    kernel: join(folder, 'vmlinuz'),
    initialRamDisk: join(folder, 'initrd.img'),
    disk: join(folder, 'disk.img'),
    key: join(folder, 'id'),
  };
}
