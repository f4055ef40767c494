import type { ContainerConfig, PodSandboxConfig } from '../generated/runtime-v1.ts';
import type { ContainerBehaviour } from './behaviour.ts';

/**
 *   RunPodSandbox ──► ready ──StopPodSandbox, or pause exit──► notReady ──RemovePodSandbox──► gone
 */
export interface FakeSandbox {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  readonly createdAt: bigint;
  state: 'ready' | 'notReady';
  /** Set while it has its own network, until it is stopped. */
  ip: string | undefined;
}

/**
 *   CreateContainer ──► created ──StartContainer──► running ──exit, StopContainer──► exited ──RemoveContainer──► gone
 *                          └───────────────cannot start────────────────────────────►┘
 */
export type FakeContainerState =
  | { readonly phase: 'created' }
  | { readonly phase: 'running'; readonly startedAt: bigint; readonly process: FakeProcess }
  | {
      readonly phase: 'exited';
      /** 0 if it never ran. */
      readonly startedAt: bigint;
      readonly finishedAt: bigint;
      readonly exitCode: number;
      readonly reason: string;
      readonly message: string;
    };

export interface FakeProcess {
  readonly behaviour: ContainerBehaviour;
  /** Aborts when it exits. */
  readonly ended: AbortSignal;
  end(): void;
}

export interface FakeContainer {
  readonly id: string;
  readonly sandboxId: string;
  readonly config: ContainerConfig;
  readonly imageId: string;
  /** Absolute; empty without a log. */
  readonly logPath: string;
  readonly createdAt: bigint;
  state: FakeContainerState;
}

/** An image that is present. */
export interface FakeImage {
  /** `sha256:…` */
  readonly id: string;
  readonly tags: Set<string>;
  readonly digests: Set<string>;
  readonly sizeBytes: number;
  readonly uid: number | undefined;
  readonly username: string;
  readonly pinned: boolean;
}
