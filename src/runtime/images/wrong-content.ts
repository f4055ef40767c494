import { DigestError } from '../storage/digest.ts';
import { TarError } from './archive/tar-header.ts';

/** What came is not what it should be; the message says who sent it. */
export class WrongContentError extends Error {
  override readonly name = 'WrongContentError';
}

/** Whether something is wrong with the bytes themselves, so that the same bytes would fail again. */
export function isWrongContent(error: unknown): boolean {
  const isDamaged = error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/.test(String(error.code));
  return isDamaged || [TarError, DigestError, SyntaxError, WrongContentError].some((kind) => error instanceof kind);
}
