/**
 * Exports stored images as an archive. An exported layer is byte for byte the archive that was imported, before
 * compression: its diff ID and the image's ID are the same wherever it is loaded.
 */
export interface ImageExporter {
  /**
   * Returns a tar archive that is both OCI's image layout and `docker save`'s (`index.json`, `manifest.json`, shared
   * blobs).
   * Images are given by ID or name. An image given by name has that name in the archive; one given by ID or digest has
   * none, because the digest is of a manifest that the archive does not contain.
   * Throws `CriError` before the first byte if an image does not exist or cannot be exported, and in the middle if a
   * layer's files were modified. The images and their layers are held while the archive is read.
   */
  archive(images: readonly string[], signal: AbortSignal): AsyncIterable<Uint8Array>;
}
