import { isId, MAX_ID } from '../../base/numeric-id.ts';
import { invalidField } from '../../cri/field-error.ts';
import type { CriError } from '../../cri/cri-error.ts';

/** A user or group id of a request. Throws for one that no process can have. */
export function checkedId(field: string, value: bigint): number {
  if (!isId(value)) throw outOfRange(field, String(value));
  return Number(value);
}

export function outOfRange(field: string, value: string): CriError {
  return invalidField(field, `${value}: must be between 0 and ${MAX_ID}, inclusive`);
}
