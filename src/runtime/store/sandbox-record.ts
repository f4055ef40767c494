import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { IdMap } from '../storage/snapshots.ts';

/**
 * What is kept of a sandbox, on disk before it is believed. The record is written before anything of the sandbox is made
 * and removed after the last of it is gone; every step between can be undone from it alone, however often.
 *
 *   creating ──► ready ──► notReady ──► (removed)
 *       │          │            ▲
 *       └──────────┴► unknown ──┘   an undo failed; StopPodSandbox tries it again
 *
 * Who finds `creating` at its start was killed in the middle of it: it is taken away.
 */
export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAtNs: bigint;
  readonly state: SandboxRecordState;
  /** The file `<paths.sandbox(id)>/ns/<kind>` of each namespace that it has of its own; absent: the machine's. */
  readonly namespaces: SandboxNamespaces;
  /** Its files are in `paths.sandboxFiles(id)`; absent: an older version put them into `paths.sandbox(id)`. */
  readonly filesOnDisk?: boolean;
  /** Has a process that holds its PID or user namespace, with the sandbox's own id as container id. */
  readonly pause: boolean;
  /** Empty for the network of the machine, and until it is set up. */
  readonly ips: readonly string[];
  /** As plugins told them; for verbose status. */
  readonly networkResults: Readonly<Record<string, unknown>>;
  /** Of the pause process, once it runs; for verbose status. */
  readonly pausePid?: number;
  /** The boot of the machine in which it was made: nothing but its record and its addresses outlives that. */
  readonly bootId?: string;
}

export type SandboxRecordState =
  | { readonly phase: 'creating' }
  | { readonly phase: 'ready' }
  /**
   * Its network may still have to be torn down: `StopPodSandbox` does that again and again until it succeeds. Once somebody
   * has asked for the stop (`stopAsked`), it is finished even if nobody asks again.
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

/** What containers of a sandbox have from it. */
export interface SandboxFiles {
  readonly hosts: string;
  readonly hostname: string;
  readonly resolvConf: string;
  /** A tmpfs, or `/dev/shm` of the machine where the IPC namespace is the machine's. */
  readonly shm: string;
}
