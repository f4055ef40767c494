/**
 * One pod as the runtime reported it at one moment. Immutable: callers may keep it.
 *
 * Times are nanoseconds since 1970, as in CRI; 0n means "not yet".
 */
export interface ObservedPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly ObservedSandbox[];
  /** Newest first for each name. Includes init containers, and dead containers that the runtime still lists. */
  readonly containers: readonly ObservedContainer[];
  /** Monotonic milliseconds when the inspection began: the value reflects everything that happened before. */
  readonly inspectedAt: number;
}

export interface ObservedSandbox {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAt: bigint;
  readonly hostNetwork: boolean;
  /** Primary first; empty on the host network and before the network is set up. */
  readonly ips: readonly string[];
  readonly runtimeHandler: string;
}

export type ObservedContainer = ObservedContainerBase & ObservedContainerState;

export interface ObservedContainerBase {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  /** Number of earlier starts: the annotation `io.kubernetes.container.restartCount`. */
  readonly restartCount: number;
  /** The annotation `io.kubernetes.container.hash`; empty when the runtime has none. */
  readonly hash: string;
  /** The image name in the pod spec. */
  readonly image: string;
  /** The image that the runtime resolved (`imageRef`), shown as `imageID`. */
  readonly imageRef: string;
  /** The runtime's image id, from which the container can be created again. */
  readonly imageId: string;
  readonly createdAt: bigint;
  readonly logPath: string;
  /** Read from the container's annotations, so that it can be stopped without its spec. */
  readonly terminationMessagePath: string;
  readonly terminationMessagePolicy: 'File' | 'FallbackToLogsOnError';
  readonly terminationGracePeriodSeconds: number | undefined;
  /** Host path of the termination message file, if one is mounted. */
  readonly terminationMessageFile: string | undefined;
  /** The stop signal, such as `SIGTERM`; absent when the runtime does not report it. */
  readonly stopSignal?: string | undefined;
  /** The user that it runs as; absent when the runtime does not report it. */
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

/** The newest container of a name. */
export function newestContainer(pod: ObservedPod | undefined, name: string): ObservedContainer | undefined {
  return pod?.containers.find((container) => container.name === name);
}

/** The newest ready sandbox, else the newest one. */
export function currentSandbox(pod: ObservedPod | undefined): ObservedSandbox | undefined {
  return pod?.sandboxes.find((sandbox) => sandbox.ready) ?? pod?.sandboxes[0];
}

export function runningContainers(pod: ObservedPod | undefined): ObservedContainer[] {
  return pod?.containers.filter((container) => container.state === 'running') ?? [];
}
