import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeIdentity } from '../oci/oci-runtime.ts';
import type { IdMap } from '../storage/snapshotter.ts';

/**
 * The stored record of a sandbox. It is written before any resource of the sandbox is created, and removed after the last
 * one is gone. Every step between can be undone from the record alone, any number of times.
 *
 *   creating ──► ready ──► notReady ──► (removed)
 *       │          │            ▲
 *       └──────────┴► unknown ──┘   an undo failed; StopPodSandbox retries it
 *
 * At start-up, a `creating` record means an interrupted create: the sandbox is removed.
 */
export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** The runtime that it was created with; absent in records of older versions. */
  readonly oci?: RuntimeIdentity;
  readonly createdAtNs: bigint;
  readonly state: SandboxRecordState;
  /** The file `<paths.sandbox(id)>/ns/<kind>` that pins each of its own namespaces; absent: the host's namespace. */
  readonly namespaces: SandboxNamespaces;
  /** Its files are in `paths.sandboxFiles(id)`; absent: in `paths.sandbox(id)`, where an older version put them. */
  readonly filesOnDisk?: boolean;
  /** Has a pause process that holds its PID or user namespace. Its container id is the sandbox's id. */
  readonly pause: boolean;
  /** Empty in the host network, and until the network is set up. */
  readonly ips: readonly string[];
  /** CNI results, for verbose status. */
  readonly networkResults: Readonly<Record<string, unknown>>;
  /** PID of the running pause process, for verbose status. */
  readonly pausePid?: number;
  /** Boot in which it was created: only its record and its addresses survive a reboot. */
  readonly bootId?: string;
}

export type SandboxRecordState =
  | { readonly phase: 'creating' }
  | { readonly phase: 'ready' }
  /**
   * The network may not be torn down yet: each `StopPodSandbox` tries again until it succeeds. Once a stop was requested
   * (`stopAsked`), the `CleanupRetryQueue` finishes it without further requests.
   */
  | { readonly phase: 'notReady'; readonly networkDown: boolean; readonly stopAsked?: boolean }
  | { readonly phase: 'unknown'; readonly reason: string };

export interface SandboxNamespaces {
  readonly network?: string;
  readonly ipc?: string;
  readonly uts?: string;
  readonly pid?: string;
  readonly user?: { readonly path: string; readonly idMap: IdMap };
}

/** Files of a sandbox that its containers mount. */
export interface SandboxFiles {
  readonly hosts: string;
  readonly hostname: string;
  readonly resolvConf: string;
  /** A tmpfs, or the host's `/dev/shm` with the host's IPC namespace. */
  readonly shm: string;
}
