import type { FileSystem } from '../../../host/file-system.ts';
import { hugePageCapacity } from '../../resources/huge-pages.ts';
import type { MachineResources } from './node-resources.ts';

export type MachineSize = Pick<MachineResources, 'cpuCount' | 'memoryBytes'>;

/** What the machine has at the moment. Huge pages can be made and given up, and file systems grow. */
export async function readMachineResources(
  size: MachineSize,
  rootDir: string,
  fs: FileSystem,
): Promise<MachineResources> {
  const usage = await fs.usage(rootDir).catch(() => undefined);
  return { ...size, hugePages: await hugePageCapacity(fs), storageBytes: usage?.capacityBytes };
}
