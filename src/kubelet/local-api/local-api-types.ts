import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodEvent } from '../events/pod-events.ts';
import type { StartStep } from '../events/start-steps.ts';
import type { Step } from '../events/timeline.ts';
import type { ManifestReport, WorkerPhase } from '../explain/agent-view.ts';
import type { PodWait } from '../explain/pod-waits.ts';
import type { PodReference } from './find-pod.ts';

/** Messages of the local API, as JSON. */

export interface VersionInfo {
  readonly version: string;
  readonly pid: number;
}

export interface PodItem {
  /** With its status. */
  readonly pod: Pod;
  readonly worker: WorkerPhase;
  readonly steps: readonly Step[];
  readonly events: readonly PodEvent[];
}

export interface PodList {
  readonly nodeName: string;
  readonly pods: readonly PodItem[];
  readonly manifests: readonly ManifestReport[];
  /** Errors of the node as a whole. */
  readonly nodeErrors: readonly string[];
}

export interface LogsQuery {
  readonly pod: PodReference;
  readonly container: string | undefined;
  readonly follow: boolean;
  /** The log of the previous container. */
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number | undefined;
  /** Wall-clock milliseconds since 1970. */
  readonly sinceMs: number | undefined;
  readonly limitBytes: number | undefined;
}

export interface ExecQuery {
  readonly pod: PodReference;
  readonly container: string | undefined;
  readonly command: readonly string[];
  readonly stdin: boolean;
  readonly tty: boolean;
}

export interface ExecAnswer {
  /** The runtime's address for one streaming connection. */
  readonly url: string;
  /** Set when the container was chosen by default. */
  readonly note: string | undefined;
}

export interface WhyAnswer {
  /** `namespace/name` */
  readonly pod: string;
  /** The summary, then its reasons, the most important first. */
  readonly sentences: readonly string[];
}

export interface TimelineAnswer {
  /** `namespace/name` */
  readonly pod: string;
  /** Time of the response, in wall-clock milliseconds. */
  readonly nowMs: number;
  /** Ordered by start. */
  readonly steps: readonly Step[];
  /** What the pod waited for between its steps. */
  readonly waits: readonly PodWait[];
}

export interface StartsAnswer {
  /** Steps that were done, in the order of a start. */
  readonly steps: readonly StartStep[];
}

export interface StopAnswer {
  /** `namespace/name` of the removed pods. */
  readonly stopped: readonly string[];
}

export interface ErrorAnswer {
  readonly message: string;
  readonly code: string;
}

/** Header with the note about a default container, where the body is the log. */
export const NOTE_HEADER = 'x-nodelet-note';
