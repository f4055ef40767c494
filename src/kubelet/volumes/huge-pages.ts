import type { Pod } from '../../api/generated/core-v1.ts';
import { parseQuantity } from '../../base/quantity.ts';

const RESOURCE_PREFIX = 'hugepages-';

/** `HugePages`, or `HugePages-2Mi` for pages of one size. */
export function isHugePageMedium(medium: string): boolean {
  return medium === 'HugePages' || medium.startsWith('HugePages-');
}

/** The size of the pages that a volume of this medium is made of. Throws kubelet's message when the pod has none such. */
export function hugePageSize(medium: string, { spec }: Pod): string {
  const all = [spec, ...spec.containers, ...(spec.initContainers ?? [])];
  const names = all.flatMap(({ resources }) => Object.keys(resources?.requests ?? {}));
  const sizes = names
    .filter((name) => name.startsWith(RESOURCE_PREFIX))
    .map((name) => parseQuantity(name.slice(RESOURCE_PREFIX.length)).toString());
  const wanted = medium === 'HugePages' ? undefined : parseQuantity(medium.slice('HugePages-'.length)).toString();
  const [size, ...others] = new Set(sizes.filter((each) => wanted === undefined || each === wanted));
  if (size === undefined) {
    throw new Error(`medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`);
  }
  if (others.length > 0) {
    throw new Error(`medium: ${medium} can't be used if container requests multiple huge page sizes`);
  }
  return size;
}
