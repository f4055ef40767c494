import type { ContainerConfig } from '../../cri/generated/runtime-v1.ts';
import type { OciSpec } from '../oci/oci-spec.ts';

/**
 * What is kept of a container, on disk before it is believed.
 *
 *   creating ──► created ◄─► starting ──► running ──► exited ──► (removed)
 *       │           │            │                      ▲
 *       └───────────┴────────────┴──────────────────────┘   an undo or a start that failed
 *
 * Who finds `creating` at its start was killed in the middle of it: it is taken away. `starting` is looked at: either it
 * runs by now, or what there is of the start is undone, and it is created as before. The arrows are `nextLife` of container-life.ts.
 */
export interface ContainerRecord {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  /** The image as `ContainerStatus.image_ref` tells it. */
  readonly imageRef: string;
  readonly runtimeHandler: string;
  readonly createdAtNs: bigint;
  /** From the image, or the container's own: `SIGTERM` unless somebody chose. */
  readonly stopSignal: string;
  /** Below the sandbox's log folder; empty: no log. */
  readonly logPath: string;
  /**
   * What was asked of the runtime, resources as of the last update; without the seccomp profile, which is most of it and
   * which only `config.json` in the bundle has. Absent while creating.
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
      /** Of the kernel under which it was started: with another one it is gone, whatever its files say. */
      readonly bootId?: string;
    }
  | {
      readonly phase: 'exited';
      /** Absent: it never ran. */
      readonly startedAtNs?: bigint;
      readonly finishedAtNs: bigint;
      readonly exitCode: number;
      /** `Completed`, `Error`, `OOMKilled`, `StartError`, `Unknown` */
      readonly reason: string;
      readonly message: string;
    };
