import type { Pod } from '../../api/generated/core-v1.ts';
import type { SourceObjects } from './source-objects.ts';

export type SourceName = 'file' | 'http' | 'api';

/** All pods that a source wants to run. Replaces the source's previous snapshot. */
export interface SourceSnapshot {
  /** Defaulted and valid. Pods of static sources are already renamed and annotated. */
  readonly pods: readonly Pod[];
  /** Parts of the source that could not be used. */
  readonly errors: readonly SourceError[];
  /** Objects that the pods may reference; absent for sources that only have pods. */
  readonly objects?: SourceObjects;
  /** Parts of the source could not be read yet: a missing pod may still be desired. */
  readonly incomplete?: true;
}

export interface SourceError {
  /** The file or URL. */
  readonly location: string;
  readonly message: string;
  /** The pod that is ignored because of its name; absent: the error is about no pod that could be read. */
  readonly duplicate?: Pod | undefined;
}

/**
 * A source of desired pods. The first complete snapshot makes it ready: until then a missing pod means nothing. It
 * yields a snapshot after each change, and ends when the signal aborts.
 */
export interface PodSource {
  readonly name: SourceName;
  snapshots(signal: AbortSignal): AsyncIterable<SourceSnapshot>;
}
