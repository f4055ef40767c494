import type { Cgroups } from './cgroups.ts';
import type { Clock } from './clock.ts';
import type { FileSystem } from './file-system.ts';
import type { Mounts } from './mounts.ts';
import type { Network } from './network.ts';
import type { Processes } from './processes.ts';
import type { Random } from './random.ts';

/**
 * Everything outside the process, apart from CRI (src/cri) and the API server (src/kubelet/cluster). Only the
 * composition root holds a whole `Host`; a part takes the ports it uses.
 */
export interface Host {
  readonly clock: Clock;
  readonly random: Random;
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly processes: Processes;
  readonly cgroups: Cgroups;
  readonly network: Network;
}
