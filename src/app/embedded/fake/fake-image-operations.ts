import type { ImageOperations } from '../image-operations.ts';

/** An owner of images that does what it is told to do, and nothing else. */
export function fakeImageOperations(operations: Partial<ImageOperations> = {}): ImageOperations {
  const refuse = (): never => {
    throw new Error('nobody asked for this');
  };
  return {
    pull: refuse,
    load: refuse,
    save: refuse,
    build: refuse,
    tag: refuse,
    list: refuse,
    remove: refuse,
    ...operations,
  };
}
