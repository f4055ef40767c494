import type { AuthConfig } from '../../cri/generated/runtime-v1.ts';
import type { PullWatcher } from '../../runtime/images/image-puller.ts';

/**
 * What `nodelet image` asks for. The owner of a storage folder does it: a runtime that is at work there, behind its
 * socket, or the command itself when there is none. Rejections are `CriError`s.
 */
export interface ImageOperations {
  /** Layers that are whole stay when it fails or is given up, for the next try. */
  pull(request: ImagePull, signal: AbortSignal, watch?: PullWatcher): Promise<NamedImage>;
  /** Images before one that is wrong stay. */
  load(archive: GivenArchive, signal: AbortSignal): Promise<readonly NamedImage[]>;
  /** OCI's layout and Docker's at once. Throws before the first byte when an image is not here; whole only at its end. */
  save(request: ImageChoice, signal: AbortSignal): AsyncIterable<Uint8Array>;
  build(request: ImageBuild, signal: AbortSignal): Promise<NamedImage>;
  tag(request: { readonly image: string; readonly name: string }, signal: AbortSignal): Promise<NamedImage>;
  list(request: Record<string, never>, signal: AbortSignal): Promise<readonly ListedImage[]>;
  /** An image that has other names loses this one alone; by its id it goes with all of them. */
  remove(request: { readonly image: string }, signal: AbortSignal): Promise<NamedImage>;
}

export interface NamedImage {
  readonly name: string;
  /** `sha256:…` */
  readonly id: string;
}

export interface ImagePull {
  /** Short or whole. */
  readonly image: string;
  readonly auth?: AuthConfig | undefined;
}

/** A file that the owner of the storage reads, or what comes from elsewhere. */
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
  /** Of everything as it was transferred. */
  readonly sizeBytes: number;
  readonly pinned: boolean;
}
