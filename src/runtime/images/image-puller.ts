import type { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import type { StoredImage } from './image-store.ts';

/** Brings images from registries in, through `ImageIngest`. */
export interface ImagePuller {
  /**
   * `reference` is whole: `docker.io/library/busybox:1.36`, or with a digest instead of the tag. Resolves when the image
   * is recorded under it (and under `name@digest`). Rejects with a `CriError`. Two pulls of one reference with the same
   * credentials at the same time are one.
   */
  pull(reference: string, auth: AuthConfig | undefined, signal: AbortSignal, watch?: PullWatcher): Promise<StoredImage>;
}

/** Told of how a pull goes on, often; must not throw and should be quick. */
export type PullWatcher = (progress: PullProgress) => void;

export type PullProgress =
  /** Which image it is, and where it comes from. Once, first. */
  | {
      readonly kind: 'resolved';
      /** Of what was asked for: an index or a manifest. */
      readonly digest: string;
      /** `https://mirror.example.com/v2` */
      readonly source: string;
      readonly layers: readonly LayerOfPull[];
    }
  | {
      readonly kind: 'layer';
      readonly digest: string;
      readonly state: LayerState;
    };

export interface LayerOfPull {
  readonly digest: string;
  /** As it is transferred. */
  readonly sizeBytes: number;
}

export type LayerState =
  /** Nothing of it is transferred: another image has brought it. */
  | { readonly phase: 'present' }
  | { readonly phase: 'waiting' }
  /** It is unpacked while it comes. */
  | { readonly phase: 'coming'; readonly receivedBytes: number }
  /** The connection broke, or what came was wrong; so many bytes stay. */
  | { readonly phase: 'retrying'; readonly receivedBytes: number; readonly reason: string }
  | { readonly phase: 'done' };
