/** A file of a volume whose content comes from elsewhere. */
export interface VolumeFile {
  readonly data: Uint8Array;
  readonly mode: number;
  /** Absent: it is root's. */
  readonly owner?: number | undefined;
}

/** By path below the volume: `app.conf`, `sub/app.conf`. */
export type VolumeContent = ReadonlyMap<string, VolumeFile>;
