import type { Log } from '../../base/log.ts';
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
import type { SandboxContainers } from './containers-of-sandbox.ts';
import type { PreparePause } from './pause.ts';

/** All that sandboxes are made with; handed in by the composition root. */
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
  readonly network: Pick<PodNetwork, 'setUp' | 'tearDown' | 'collect'>;
  readonly nri: Pick<Nri, 'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox'>;
  readonly events: EventSink;
  readonly containers: SandboxContainers;
  readonly preparePause: PreparePause;
  /** /proc/sys/kernel/random/boot_id */
  readonly bootId: string;
}
