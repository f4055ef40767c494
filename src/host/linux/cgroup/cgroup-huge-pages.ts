import type { CgroupValues } from '../../cgroups.ts';
import type { FileSystem } from '../../file-system.ts';

/**
 * Limits pages in use and reserved pages, which newer kernels count separately. The controller is optional in both versions
 * of cgroups; `file` returns the path for `hugetlb.2MB`.
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
