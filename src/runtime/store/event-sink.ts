import type { ContainerEventType } from '../../cri/generated/runtime-v1.ts';

/** Where verbs tell what happened, after the record says so. */
export interface EventSink {
  /** A sandbox is told with its own id as container id, as containerd does. */
  publish(event: LifecycleEvent): void;
}

export interface LifecycleEvent {
  readonly type: ContainerEventType;
  readonly sandboxId: string;
  readonly containerId: string;
}
