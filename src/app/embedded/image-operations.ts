import type { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import type { PullWatcher } from '../../runtime/images/image-puller.ts';

/**
 * The operations of `nodelet image`. The owner of the storage folder executes them: a running runtime, behind its socket,
 * or else the command itself. They reject with `CriError`s.
 */
export interface ImageOperations {
  /** Complete layers of a failed or aborted pull are kept for the next one. */
  pull(request: ImagePull, signal: AbortSignal, watch?: PullWatcher): Promise<NamedImage>;
  /** Images of the archive before an invalid one are kept. */
  load(archive: GivenArchive, signal: AbortSignal): Promise<readonly NamedImage[]>;
  /** In OCI's and Docker's layout at once. Throws before the first byte if an image is missing; complete only at its end. */
  save(request: ImageChoice, signal: AbortSignal): AsyncIterable<Uint8Array>;
  build(request: ImageBuild, signal: AbortSignal): Promise<NamedImage>;
  tag(request: { readonly image: string; readonly name: string }, signal: AbortSignal): Promise<NamedImage>;
  list(request: Record<string, never>, signal: AbortSignal): Promise<readonly ListedImage[]>;
  /** Removes only this name of an image that has others; an id removes the image with all of its names. */
  remove(request: { readonly image: string }, signal: AbortSignal): Promise<NamedImage>;
}

export interface NamedImage {
  readonly name: string;
  /** `sha256:…` */
  readonly id: string;
}

export interface ImagePull {
  /** A short or full name. */
  readonly image: string;
  readonly auth?: AuthConfig | undefined;
}

/** A file that the owner of the storage reads, or the bytes themselves. */
export type GivenArchive = { readonly path: string } | { readonly bytes: AsyncIterable<Uint8Array> };

export interface ImageChoice {
  /** Names or ids. */
  readonly images: readonly string[];
}

export interface ImageBuild {
  /** A folder, or a tar file. */
  readonly rootfs: string;
  readonly name: string;
  readonly config: {
    readonly cmd: readonly string[];
    readonly entrypoint: readonly string[];
    readonly env: readonly string[];
    readonly user: string;
    readonly workingDir: string;
  };
}

export interface ListedImage {
  readonly id: string;
  /** `docker.io/library/busybox:1.36` */
  readonly tags: readonly string[];
  /** `docker.io/library/busybox@sha256:…` */
  readonly digests: readonly string[];
  /** The compressed size. */
  readonly sizeBytes: number;
  readonly pinned: boolean;
}
