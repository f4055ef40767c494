import type { ContainerEventType } from '../../cri/generated/runtime-v1.ts';

/** Receives the events of sandboxes and containers, after the record is written. */
export interface EventSink {
  /** An event of a sandbox has the sandbox's id as container id, like containerd's. */
  publish(event: LifecycleEvent): void;
}

export interface LifecycleEvent {
  readonly type: ContainerEventType;
  readonly sandboxId: string;
  readonly containerId: string;
}
