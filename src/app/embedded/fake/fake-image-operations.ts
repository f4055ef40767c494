import type { ImageOperations } from '../image-operations.ts';

/** Image operations of a test; all others fail. */
export function fakeImageOperations(operations: Partial<ImageOperations> = {}): ImageOperations {
  const unexpected = (): never => {
    throw new Error('unexpected image operation');
  };
  return {
    pull: unexpected,
    load: unexpected,
    save: unexpected,
    build: unexpected,
    tag: unexpected,
    list: unexpected,
    remove: unexpected,
    ...operations,
  };
}
