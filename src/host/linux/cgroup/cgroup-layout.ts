import type { CgroupValues } from '../../cgroups.ts';

/** What differs between the versions. */
export interface CgroupLayout {
  readonly version: 'v1' | 'v2';
  /** Folders that each hold a whole tree of cgroups. */
  readonly hierarchies: readonly string[];
  create(hierarchy: string, path: string): Promise<void>;
  update(path: string, values: CgroupValues): Promise<void>;
}
