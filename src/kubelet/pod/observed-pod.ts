/**
 * What the runtime says of one pod, at one moment. Values only: whoever holds one may keep it.
 *
 * Times are nanoseconds since 1970, as CRI tells them; 0n means "not yet".
 */
export interface ObservedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first under each name, dead ones that the runtime still knows included; init containers too. */
  readonly containers: readonly ObservedContainer[];
  /** Monotonic milliseconds at which the inspection began: the value holds everything that happened before. */
  readonly inspectedAt: number;
}

export interface ObservedSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAt: bigint;
  readonly hostNetwork: boolean;
  /** Primary first; empty on the host network and before the network stands. */
  readonly ips: readonly string[];
  readonly runtimeHandler: string;
}

export type ObservedContainer = ObservedContainerBase & ObservedContainerState;

export interface ObservedContainerBase {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  /** How often it was started before: the annotation `io.kubernetes.container.restartCount`. */
  readonly restartCount: number;
  /** The annotation `io.kubernetes.container.hash`; empty when the runtime has none. */
  readonly hash: string;
  /** As the manifest named it. */
  readonly image: string;
  /** What the runtime resolved it to (`imageRef`), shown as `imageID`. */
  readonly imageRef: string;
  /** The runtime's own image id, from which the container can be made again. */
  readonly imageId: string;
  readonly createdAt: bigint;
  readonly logPath: string;
  /** Read back from the annotations with which it was created, so that it can be stopped without its spec. */
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: 'File' | 'FallbackToLogsOnError';
  readonly terminationGracePeriodSeconds: number | undefined;
  /** Host path of the termination message file, if one is mounted. */
  readonly terminationMessageFile: string | undefined;
  /** `SIGTERM`: what the runtime will stop it with; absent: it does not tell. */
  readonly stopSignal?: string | undefined;
  /** Who it runs as; absent: the runtime does not tell. */
  readonly user?: ObservedUser | undefined;
}

export interface ObservedUser {
  readonly uid: number;
  readonly gid: number;
  readonly supplementalGroups?: readonly number[];
}

export type ObservedContainerState =
  | { readonly state: 'created' }
  | { readonly state: 'running'; readonly startedAt: bigint }
  | {
      readonly state: 'exited';
      readonly startedAt: bigint;
      readonly finishedAt: bigint;
      readonly exitCode: number;
      /** `Completed`, `Error`, `OOMKilled`, … */
      readonly reason: string;
      /** The termination message, or the runtime's own text. */
      readonly message: string;
    }
  | { readonly state: 'unknown' };

/** The container that counts under a name: the newest. */
export function newestContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((container) => container.name === name);
}

/** The sandbox that counts: the newest ready one, else the newest. */
export function currentSandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find((sandbox) => sandbox.ready) ?? pod?.sandboxes[0];
}

export function runningContainers(pod: ObservedPod | undefined): ObservedContainer[] {
  return pod?.containers.filter((container) => container.state === 'running') ?? [];
}
