import type { MemoryFileSystem } from '../../src/host/fake/memory-file-system.ts';
import type { MachineTopology } from '../../src/kubelet/topology/machine-topology.ts';

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

/** The memory of all nodes together. */
const MEMORY_KIB = 16 * 2 ** 20;
const SYSTEM = '/sys/devices/system';

/** Writes the files from which the places of CPUs and memory are read. */
export async function writeTopology(fs: MemoryFileSystem, { cpus, numaNodes }: MachineTopology): Promise<void> {
  const write = async (path: string, text: string): Promise<void> => {
    await fs.makeDirectory(path.slice(0, path.lastIndexOf('/')));
    await fs.writeFile(path, `${text}\n`);
  };
  await write(`${SYSTEM}/cpu/online`, `0-${cpus.size - 1}`);
  for (const { id, distances } of numaNodes) {
    const kib = MEMORY_KIB / numaNodes.length;
    await write(`${SYSTEM}/node/node${id}/meminfo`, `Node ${id} MemTotal: ${kib} kB`);
    await write(`${SYSTEM}/node/node${id}/distance`, distances.join(' '));
  }
  for (const [cpu, { coreId, socketId, numaNodeId }] of cpus) {
    await write(`${SYSTEM}/cpu/cpu${cpu}/topology/core_id`, String(coreId));
    await write(`${SYSTEM}/cpu/cpu${cpu}/topology/physical_package_id`, String(socketId));
    await fs.makeDirectory(`${SYSTEM}/node/node${numaNodeId}/cpu${cpu}`);
  }
}
