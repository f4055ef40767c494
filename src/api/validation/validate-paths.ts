/** Paths inside a volume or a container, and modes of files. */
import { type FieldErrors, invalid } from './field-error.ts';

export function* noBacksteps(path: string, target: string): FieldErrors {
  if (target.split('/').includes('..')) yield invalid(path, target, "must not contain '..'");
}

/** Relative, and never leaving where it starts. */
export function* descendingPath(path: string, target: string): FieldErrors {
  if (target.startsWith('/')) yield invalid(path, target, 'must be a relative path');
  yield* noBacksteps(path, target);
}

/** A descending path whose name is not kept for the kubelet's own files (`..data`). */
export function* projectedPath(path: string, target: string): FieldErrors {
  yield* descendingPath(path, target);
  if (target.startsWith('..') && !target.startsWith('../')) yield invalid(path, target, "must not start with '..'");
}

export function* fileMode(path: string, mode: number | undefined): FieldErrors {
  if (mode !== undefined && (mode < 0 || mode > 0o777)) {
    yield invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive');
  }
}
