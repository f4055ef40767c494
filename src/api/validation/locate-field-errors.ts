import type { Decoded } from '../decode/decode-manifest.ts';
import type { ManifestError } from '../decode/manifest-error.ts';
import { type FieldError, formatFieldError } from './field-error.ts';

/** What is wrong with an object, and where it stands in the manifest that the object was made from. */
export function locateFieldErrors(errors: Iterable<FieldError>, { locate }: Decoded<unknown>): ManifestError[] {
  return Array.from(errors, (error) => ({
    ...locate(error.path),
    path: error.path,
    message: formatFieldError(error),
  }));
}
