import { isId, MAX_ID } from '../../base/numeric-id.ts';
import type { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';

/** Validates a user or group ID of a request. Throws for one beyond the kernel's limit. */
export function checkId(field: string, value: bigint): number {
  if (!isId(value)) throw outOfRangeError(field, String(value));
  return Number(value);
}

export function outOfRangeError(field: string, value: string): CriError {
  return invalidField(field, `${value}: must be between 0 and ${MAX_ID}, inclusive`);
}
