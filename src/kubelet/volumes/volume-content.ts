/** A file of a volume with generated content. */
export interface VolumeFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** Absent: root. */
  readonly owner?: number | undefined;
}

/** By path below the volume: `app.conf`, `sub/app.conf`. */
export type VolumeContent = ReadonlyMap<string, VolumeFile>;
