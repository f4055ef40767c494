import type { CgroupValues } from '../../cgroups.ts';
import type { FileSystem } from '../../file-system.ts';

/**
 * Pages in use, and pages that are set aside and not in use yet: newer kernels count them apart. The controller is
 * optional in both versions of control groups; `file` tells the path for `hugetlb.2MB`.
 */
export async function updateHugePages(
  fs: FileSystem,
  file: (name: string) => string,
  limits: CgroupValues['hugePageLimits'] = {},
): Promise<void> {
  for (const [size, bytes] of Object.entries(limits)) {
    for (const path of [file(`hugetlb.${size}`), file(`hugetlb.${size}.rsvd`)]) {
      if (await fs.stat(path)) await fs.writeFile(path, String(bytes));
    }
  }
}
