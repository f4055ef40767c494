/** Paths below the storage directory. Incomplete items are in `unfinished`. */
export interface StorageLayout {
  readonly root: string;
  /** `<hex>.json` for each image. */
  readonly images: string;
  /**
   * One directory for each layer, named by the hex part of its chain ID. Beside it are `<hex>.json` and what is needed
   * to rebuild its archive: `<hex>.tar-frame`, rarely `<hex>.tar-kept`.
   */
  readonly layers: string;
  /** `<container id>/{layers,fs,work}` */
  readonly snapshots: string;
  /** One directory for each mounted image, which keeps its layers in use. */
  readonly views: string;
  /** Belongs to this process alone; those of previous processes are removed. */
  readonly unfinished: string;
  readonly allUnfinished: string;
  /** An empty directory, the lowest layer of an image without layers. */
  readonly empty: string;
}

export type LayerFormat = 'overlay' | 'overlay-user' | 'native';

/** Layers are in one directory for each whiteout format: the machine may boot another kernel. */
export function storageLayout(root: string, form: LayerFormat, processId: string): StorageLayout {
  return {
    root,
    images: `${root}/images`,
    layers: `${root}/layers/${form}`,
    snapshots: `${root}/snapshots`,
    views: `${root}/views`,
    unfinished: `${root}/unfinished/${processId}`,
    allUnfinished: `${root}/unfinished`,
    empty: `${root}/layers/${form}/empty`,
  };
}
