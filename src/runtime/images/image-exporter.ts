/**
 * Writes images that are here into an archive. A layer comes out byte for byte as it went in, before compression: its diff
 * id and with it the id of the image are the same wherever it is loaded.
 */
export interface ImageExporter {
  /**
   * A tar archive that is OCI's image layout and `docker save`'s at once (`index.json`, `manifest.json`, shared blobs).
   * By id or name; an image that is given by a name has that name in the archive, by its id it has none, nor by a digest,
   * which is of a manifest that the archive does not have. Throws a `CriError` before the first byte when an image is not
   * here or cannot be made again, in the middle when a layer's files were changed behind our back. The images and their
   * layers stay while the archive is read.
   */
  archive(images: readonly string[], signal: AbortSignal): AsyncIterable<Uint8Array>;
}
