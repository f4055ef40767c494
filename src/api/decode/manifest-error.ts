/** Where something stands in a manifest; lines and columns from 1. */
export interface ManifestLocation {
  readonly file: string;
  readonly line: number;
  readonly column: number;
}

/** Something in a manifest that must be changed before it can be used. */
export interface ManifestError extends ManifestLocation {
  /** `spec.containers[0].image`, or empty when it is about the whole document. */
  readonly path: string;
  readonly message: string;
}

/** `web.yaml:7:5: spec.containers[0]: …`; the path is left out where the message has it already. */
export function formatManifestError({ file, line, column, path, message }: ManifestError): string {
  const where = path === '' || message.includes(path) ? '' : `${path}: `;
  return `${file}:${line}:${column}: ${where}${message}`;
}
