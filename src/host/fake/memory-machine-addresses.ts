import type { MachineAddresses } from '../machine-addresses.ts';

const LOOPBACK = ['127.0.0.1', '::1'];

/** The addresses that a test sets; the first one of a family is the primary one. */
export class MemoryMachineAddresses implements MachineAddresses {
  #outer: readonly string[] = ['192.0.2.1'];

  set(...outer: readonly string[]): void {
    this.#outer = outer;
  }

  all(): readonly string[] {
    return [...LOOPBACK, ...this.#outer];
  }

  primary(family: 4 | 6): string | undefined {
    return this.#outer.find((address) => address.includes(':') === (family === 6));
  }
}
