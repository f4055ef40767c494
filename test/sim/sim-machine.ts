import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';

export const MACHINE_ID = '3d1219c7c4c5404aaa1f6d2a48adfda4';
export const BOOT_ID = '28319668-bd43-4697-8129-bcb3afd1ffb8';

const FILES: Readonly<Record<string, string>> = {
  '/etc/machine-id': MACHINE_ID,
  '/proc/sys/kernel/random/boot_id': BOOT_ID,
  '/proc/sys/kernel/osrelease': '6.18.44',
  '/etc/os-release': 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"',
  '/proc/meminfo': 'MemTotal:       16777216 kB\nSwapTotal:             0 kB\n',
};

/** Writes the files that identify the machine. */
export async function prepareMachine(fs: MemoryFileSystem): Promise<void> {
  for (const [path, text] of Object.entries(FILES)) {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, `${text}\n`);
  }
}
