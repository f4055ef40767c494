import { DigestError } from '../storage/digest.ts';
import { TarError } from './archive/tar-header.ts';

/** The received content is invalid; the message names its source. */
export class InvalidContentError extends Error {
  override readonly name = 'InvalidContentError';
}

/** Whether the content itself is invalid, so that the same bytes would fail again. */
export function isInvalidContent(error: unknown): boolean {
  const isDamaged = error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/.test(String(error.code));
  return isDamaged || [TarError, DigestError, SyntaxError, InvalidContentError].some((kind) => error instanceof kind);
}
