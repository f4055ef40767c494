import type { FileSystem } from '../../../host/file-system.ts';
import { hugePageCapacity } from '../../resources/huge-pages.ts';
import type { MachineResources } from './node-resources.ts';

export type MachineSize = Pick<MachineResources, 'cpuCount' | 'memoryBytes'>;

/** The current capacity of the machine: huge pages and file systems can change. */
export async function readMachineResources(
  size: MachineSize,
  rootDir: string,
  fs: FileSystem,
): Promise<MachineResources> {
  const usage = await fs.usage(rootDir).catch(() => undefined);
  return { ...size, hugePages: await hugePageCapacity(fs), storageBytes: usage?.capacityBytes };
}
