import { CriError } from '../../cri/cri-error.ts';

/** The caller asked for what cannot be: `field` is the path in the CRI message, as the protocol spells it. */
export function badField(field: string, why: string): CriError {
  return new CriError('InvalidArgument', `${field}: ${why}`);
}
