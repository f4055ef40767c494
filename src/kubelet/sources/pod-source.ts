import type { Pod } from '../../api/generated/core-v1.ts';
import type { SourceObjects } from './source-objects.ts';

export type SourceName = 'file' | 'http' | 'api';

/** All that a source wants to run, at one moment. It replaces what the source said before. */
export interface SourceSnapshot {
  /** Defaulted and valid; of a static source, already named and marked as static pods. */
  readonly pods: readonly Pod[];
  /** What could not be used; the pods of the rest are in `pods`. */
  readonly errors: readonly SourceError[];
  /** What the pods may refer to; absent of a source that knows pods only. */
  readonly objects?: SourceObjects;
  /** Something could not be read yet: a pod that is not here may be wanted all the same. */
  readonly incomplete?: true;
}

export interface SourceError {
  /** The file or address. */
  readonly location: string;
  readonly message: string;
}

/**
 * Where pods come from. The first complete snapshot makes the source ready: until then nothing may be concluded from a pod's
 * absence. It tells again whenever something changed, and ends when the signal aborts.
 */
export interface PodSource {
  readonly name: SourceName;
  snapshots(signal: AbortSignal): AsyncIterable<SourceSnapshot>;
}
