import type { Quantity } from '../../../base/quantity.ts';

/** What this process knows of the sizes of volumes, by their unique names. */
export class VolumeSizes {
  readonly #sizes = new Map<string, Quantity>();
  readonly #refused = new Set<string>();
  readonly #failed = new Set<string>();

  /** The size of the volume on this node; `undefined`: as its claim says. */
  of(id: string): Quantity | undefined {
    return this.#sizes.get(id);
  }

  set(id: string, size: Quantity): void {
    this.#sizes.set(id, size);
  }

  /** The driver does not expand the volume while it is in use. */
  isRefused(id: string): boolean {
    return this.#refused.has(id);
  }

  refuse(id: string): void {
    this.#refused.add(id);
  }

  /** Returns whether an expansion has failed before. */
  fail(id: string): boolean {
    const hasFailed = this.#failed.has(id);
    this.#failed.add(id);
    return hasFailed;
  }

  forget(id: string): void {
    this.#sizes.delete(id);
    this.#refused.delete(id);
    this.#failed.delete(id);
  }
}
