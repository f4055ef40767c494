import type { Decoded } from '../decode/decode-manifest.ts';
import type { ManifestProblem } from '../decode/manifest-problem.ts';
import { type FieldError, formatFieldError } from './field-error.ts';

/** What is wrong with an object, and where it stands in the manifest that the object was made from. */
export function fieldProblems(errors: Iterable<FieldError>, { locate }: Decoded<unknown>): ManifestProblem[] {
  return Array.from(errors, (error) => ({
    ...locate(error.path),
    path: error.path,
    message: formatFieldError(error),
  }));
}
