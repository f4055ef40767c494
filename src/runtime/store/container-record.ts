import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeIdentity } from '../oci/oci-runtime.ts';
import type { OciSpec } from '../oci/oci-spec.ts';

/**
 * The stored record of a container. It is written to disk before it takes effect.
 *
 *   creating ──► created ◄─► starting ──► running ──► exited ──► (removed)
 *       │           │            │                      ▲
 *       └───────────┴────────────┴──────────────────────┘   a failed undo or start
 *
 * At start-up, a `creating` record means an interrupted create: the container is deleted. For `starting`, either the
 * container runs, or the start is undone and it is `created` again. container-state.ts implements the arrows.
 */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  /** `ContainerStatus.image_ref` */
  readonly imageRef: string;
  readonly runtimeHandler: string;
  /** That of its sandbox. */
  readonly oci?: RuntimeIdentity;
  readonly createdAtNs: bigint;
  /** From the container config or the image; `SIGTERM` by default. */
  readonly stopSignal: string;
  /** Below the sandbox's log directory; empty: no log. */
  readonly logPath: string;
  /**
   * The spec passed to the OCI runtime, with the resources of the last update. Without the seccomp profile, which is most
   * of its size: only `config.json` in the bundle has it. Absent while creating.
   */
  readonly spec?: OciSpec;
  readonly state: ContainerRecordState;
}

export type ContainerRecordState =
  | { readonly phase: 'creating' }
  | { readonly phase: 'created' }
  | { readonly phase: 'starting' }
  | {
      readonly phase: 'running';
      readonly pid: number;
      readonly startedAtNs: bigint;
      /** Boot in which it was started: after a reboot the container is gone. */
      readonly bootId?: string;
    }
  | {
      readonly phase: 'exited';
      /** Absent if it never ran. */
      readonly startedAtNs?: bigint;
      readonly finishedAtNs: bigint;
      readonly exitCode: number;
      /** `Completed`, `Error`, `OOMKilled`, `StartError`, `Unknown` */
      readonly reason: string;
      readonly message: string;
    };
