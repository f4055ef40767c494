import type { Log } from '../../base/log.ts';
import type { ContainerStatus } from '../../cri/generated/runtime-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Namespaces } from '../../host/namespaces.ts';
import type { Random } from '../../host/random.ts';
import type { PodNetwork } from '../network/pod-network.ts';
import type { Nri } from '../nri/nri.ts';
import type { OciRuntimes } from '../oci/oci-runtime.ts';
import type { RuntimePaths } from '../settings/runtime-paths.ts';
import type { EventSink } from '../store/event-sink.ts';
import type { OpenedStore } from '../store/record-store.ts';
import type { SandboxRecord } from '../store/sandbox-record.ts';
import type { PreparePause } from './pause.ts';

/** Dependencies of sandboxes, supplied by the composition root. */
export interface SandboxDeps {
  readonly clock: Clock;
  readonly random: Pick<Random, 'bytes' | 'fraction'>;
  readonly fs: FileSystem;
  readonly mounts: Pick<Mounts, 'mount' | 'unmount' | 'list'>;
  readonly namespaces: Namespaces;
  readonly log: Log;
  readonly paths: RuntimePaths;
  readonly records: OpenedStore<SandboxRecord>;
  readonly runtimes: OciRuntimes;
  readonly network: Pick<PodNetwork, 'setUp' | 'tearDown' | 'collectGarbage'>;
  readonly nri: Pick<Nri, 'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly events: EventSink;
  readonly containers: SandboxContainers;
  readonly preparePause: PreparePause;
  /** /proc/sys/kernel/random/boot_id */
  readonly bootId: string;
}

/** The containers of a sandbox, as its verbs need them. */
export interface SandboxContainers {
  /** Kills all containers without a grace period, including those being created. Rejects if one cannot be stopped. */
  stopAll(sandboxId: string, signal: AbortSignal): Promise<void>;
  /** Deletes all containers; they are stopped. */
  removeAll(sandboxId: string, signal: AbortSignal): Promise<void>;
  statuses(sandboxId: string): readonly ContainerStatus[];
}
