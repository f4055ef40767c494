/** Where things lie below the storage folder. What does not have its last name yet lies in `unfinished`. */
export interface StorageLayout {
  readonly root: string;
  /** `<hex>.json` for each image. */
  readonly images: string;
  /**
   * A folder for each layer, by the hex of its chain id. Beside it `<hex>.json`, and what of its archive is not in its files:
   * `<hex>.tar-frame`, seldom `<hex>.tar-kept`.
   */
  readonly layers: string;
  /** `<container id>/{layers,fs,work}` */
  readonly snapshots: string;
  /** What keeps the layers of mounted images, one folder for each target. */
  readonly views: string;
  /** Of this process alone; what others left beside it goes. */
  readonly unfinished: string;
  readonly allUnfinished: string;
  /** An empty folder, the lowest layer of an image that has none. */
  readonly empty: string;
}

export type LayerForm = 'overlay' | 'overlay-user' | 'native';

/** Layers lie in a folder for each way to mark what is gone: a machine may come up with another kernel. */
export function storageLayout(root: string, form: LayerForm, life: string): StorageLayout {
  return {
    root,
    images: `${root}/images`,
    layers: `${root}/layers/${form}`,
    snapshots: `${root}/snapshots`,
    views: `${root}/views`,
    unfinished: `${root}/unfinished/${life}`,
    allUnfinished: `${root}/unfinished`,
    empty: `${root}/layers/${form}/empty`,
  };
}
