import type { Clock } from '../../../host/clock.ts';
import type { MachineAddresses } from '../../../host/machine-addresses.ts';
import type { NetworkClient } from '../../../host/network.ts';
import type { NodeSettings } from '../node-settings.ts';
import { canonicalIp, isUnspecified } from './canonical-ip.ts';
import type { AddressView } from './node-addresses.ts';

/** A name server that does not respond must not delay the node, nor be queried each time. */
const LOOKUP_MS = 500;
const NAMES_MS = 60_000;

export interface AddressDeps {
  readonly addresses: MachineAddresses;
  readonly network: Pick<NetworkClient, 'lookup'>;
  readonly clock: Clock;
}

/** Reads the addresses of the machine. Calls must not overlap. */
export class AddressReader {
  readonly #settings: Pick<NodeSettings, 'nodeName' | 'nodeIps'>;
  readonly #deps: AddressDeps;
  #names: { readonly list: readonly string[]; readonly atMs: number } | undefined;

  constructor(settings: Pick<NodeSettings, 'nodeName' | 'nodeIps'>, deps: AddressDeps) {
    this.#settings = settings;
    this.#deps = deps;
  }

  async read(signal: AbortSignal): Promise<AddressView> {
    const { addresses } = this.#deps;
    const isGiven = this.#settings.nodeIps.some((ip) => !isUnspecified(canonicalIp(ip) ?? ip));
    const named = isGiven ? [] : await this.#namedAddresses(signal);
    const [v4, v6] = [addresses.primary(4), addresses.primary(6)];
    const primary = { ...(v4 !== undefined && { 4: v4 }), ...(v6 !== undefined && { 6: v6 }) };
    return { local: addresses.all(), named, primary };
  }

  /** The addresses of the node's name; the previous ones if the lookup fails. */
  async #namedAddresses(signal: AbortSignal): Promise<readonly string[]> {
    const { network, clock } = this.#deps;
    const nowMs = clock.monotonic();
    if (this.#names && nowMs - this.#names.atMs < NAMES_MS) return this.#names.list;
    const until = AbortSignal.any([signal, clock.deadline(LOOKUP_MS)]);
    const before = this.#names?.list ?? [];
    const list = await network.lookup(this.#settings.nodeName, until).catch(() => before);
    this.#names = { list, atMs: nowMs };
    return list;
  }
}
