import type { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import type { StoredImage } from './image-store.ts';

/** Pulls images from registries, through `ImageIngest`. */
export interface ImagePuller {
  /**
   * `reference` is a full name: `docker.io/library/busybox:1.36`, or with a digest instead of the tag. Resolves when
   * the image is recorded under it (and under `name@digest`). Rejects with `CriError`. Concurrent pulls of one
   * reference with the same credentials are shared.
   */
  pull(reference: string, auth: AuthConfig | undefined, signal: AbortSignal, watch?: PullWatcher): Promise<StoredImage>;
}

/** Called often during a pull; must not throw and should be quick. */
export type PullWatcher = (progress: PullProgress) => void;

export type PullProgress =
  /** The resolved image and its source. Sent once, first. */
  | {
      readonly kind: 'resolved';
      /** Digest of the requested index or manifest. */
      readonly digest: string;
      /** `https://mirror.example.com/v2` */
      readonly source: string;
      readonly layers: readonly PullLayer[];
    }
  | {
      readonly kind: 'layer';
      readonly digest: string;
      readonly state: LayerState;
    };

export interface PullLayer {
  readonly digest: string;
  /** Size as transferred. */
  readonly sizeBytes: number;
}

export type LayerState =
  /** The layer exists already and is not transferred. */
  | { readonly phase: 'present' }
  | { readonly phase: 'waiting' }
  /** The layer is unpacked while it is received. */
  | { readonly phase: 'coming'; readonly receivedBytes: number }
  /** The connection broke or the content was invalid; `receivedBytes` are kept. */
  | { readonly phase: 'retrying'; readonly receivedBytes: number; readonly reason: string }
  | { readonly phase: 'done' };
