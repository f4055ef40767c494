import type { CgroupController, CgroupValues, MissingCgroup } from '../../cgroups.ts';

/** The operations that differ between cgroup versions. */
export interface CgroupLayout {
  readonly version: 'v1' | 'v2';
  /** The root folders of the cgroup trees. */
  readonly hierarchies: readonly string[];
  create(hierarchy: string, path: string): Promise<void>;
  requireControllers(path: string, controllers: readonly CgroupController[]): Promise<void>;
  update(path: string, values: CgroupValues): Promise<void>;
  kill(path: string): Promise<boolean>;
  missing(path: string): Promise<MissingCgroup | undefined>;
}
