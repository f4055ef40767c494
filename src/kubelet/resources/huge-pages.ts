import type { ResourceAmounts, ResourceList } from '../../api/pod-resources.ts';
import { parseQuantity } from '../../base/quantity.ts';
import type { FileSystem } from '../../host/file-system.ts';

const POOLS = '/sys/kernel/mm/hugepages';

/** The page sizes for which the kernel has pools, in KiB. */
export async function hugePagePools(fs: FileSystem): Promise<readonly string[]> {
  if (!(await fs.stat(POOLS))) return [];
  const entries = await fs.readDirectory(POOLS);
  return entries.flatMap(({ name }) => /^hugepages-(\d+)kB$/.exec(name)?.[1] ?? []);
}

/** Bytes of allocated huge pages by resource name: `hugepages-2Mi`. */
export async function hugePageCapacity(fs: FileSystem): Promise<ResourceList> {
  const pools = await hugePagePools(fs);
  const amounts = pools.map(async (kibibytes) => {
    const count = await fs.readText(`${POOLS}/hugepages-${kibibytes}kB/nr_hugepages`);
    const bytes = BigInt(kibibytes) * 1024n * BigInt(count.trim());
    return [`hugepages-${parseQuantity(`${kibibytes}Ki`)}`, String(bytes)] as const;
  });
  return Object.fromEntries(await Promise.all(amounts));
}

/** A size in bytes as the kernel's hugetlb files name it: `2MB`, `1GB`. */
export function hugePageSizeText(bytes: bigint): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1024n && unit < units.length - 1) {
    size /= 1024n;
    unit++;
  }
  return `${size}${units[unit]}`;
}

/** Bytes of huge pages by page size; `hugepages-2Mi` and `hugepages-2048Ki` are the same and add up. */
export function hugePageAmounts(amounts: ResourceAmounts): Map<string, bigint> {
  const bySize = new Map<string, bigint>();
  for (const [name, amount] of amounts) {
    const size = hugePageSizeOf(name);
    if (size !== undefined) bySize.set(size, (bySize.get(size) ?? 0n) + amount.value());
  }
  return bySize;
}

/** The size in the name of a resource (`hugepages-2Mi`), as the kernel names it; `undefined` for any other resource. */
export function hugePageSizeOf(resource: string): string | undefined {
  const size = /^hugepages-(.+)$/.exec(resource)?.[1];
  return size === undefined ? undefined : hugePageSizeText(parseQuantity(size).value());
}
