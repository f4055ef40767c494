import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodEvent } from '../events/pod-events.ts';
import type { Step } from '../events/timeline.ts';
import type { ManifestReport, WorkerPhase } from '../explain/agent-view.ts';
import type { PodWait } from '../explain/pod-waits.ts';
import type { PodReference } from './find-pod.ts';

/** What goes over the local socket, as JSON. */

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
  /** What is wrong with the node as a whole. */
  readonly nodeErrors: readonly string[];
}

export interface LogsQuery {
  readonly pod: PodReference;
  readonly container: string | undefined;
  readonly follow: boolean;
  /** Of the container before the one that runs now. */
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
  /** Where the runtime waits for one streaming connection. */
  readonly url: string;
  /** Set when the container was chosen by default. */
  readonly note: string | undefined;
}

export interface WhyAnswer {
  /** `namespace/name` */
  readonly pod: string;
  /** The verdict, then its reasons, the most telling first. */
  readonly sentences: readonly string[];
}

export interface TimelineAnswer {
  /** `namespace/name` */
  readonly pod: string;
  /** The moment of the answer, in wall-clock milliseconds. */
  readonly nowMs: number;
  /** Ordered by start. */
  readonly steps: readonly Step[];
  /** What the pod waited for between its steps. */
  readonly waits: readonly PodWait[];
}

export interface StopAnswer {
  /** `namespace/name` of what is gone now. */
  readonly stopped: readonly string[];
}

export interface ErrorAnswer {
  readonly message: string;
  readonly code: string;
}

/** Carries the note about a default container where the body is the logs themselves. */
export const NOTE_HEADER = 'x-nodelet-note';
