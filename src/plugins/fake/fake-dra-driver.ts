import type { DraDriver } from '../dra/dra-drivers.ts';
import type {
  Claim,
  Device,
  NodePrepareResourcesResponse,
  NodeUnprepareResourcesResponse,
} from '../generated/dra-v1.ts';
import type { PluginError } from '../plugin-error.ts';

/** What the driver does with the next call instead of its work. */
export type DraFault =
  /** The call fails; `after`: after it had its effect. */
  | { readonly kind: 'error'; readonly error: PluginError; readonly after?: boolean }
  /** Answers the error for each claim. */
  | { readonly kind: 'claimError'; readonly error: string }
  /** Answers for claims that it was not asked for. */
  | { readonly kind: 'unknownClaim'; readonly uid: string }
  /** Leaves out the last claim. */
  | { readonly kind: 'skip' }
  /** Does not answer until the caller gives up. */
  | { readonly kind: 'hang' };

export interface DraCall {
  readonly method: 'prepare' | 'unprepare';
  readonly claims: readonly string[];
}

/** A DRA driver in memory. Both calls are idempotent, as drivers have to be. */
export class FakeDraDriver implements DraDriver {
  readonly name: string;
  /** The names of the claims of each call, in order. */
  readonly calls: DraCall[] = [];
  /** The claims that are prepared, by UID. */
  readonly prepared = new Map<string, readonly Device[]>();
  readonly #devicesOf: (claim: Claim) => readonly Partial<Device>[];
  readonly #faults: DraFault[] = [];

  /** By default each claim has one device, with a CDI device of its name. */
  constructor(name: string, devicesOf?: (claim: Claim) => readonly Partial<Device>[]) {
    this.name = name;
    this.#devicesOf = devicesOf ?? ((claim) => [{ cdiDeviceIds: [`${name}/device=${claim.name}`] }]);
  }

  failNext(...faults: readonly DraFault[]): void {
    this.#faults.push(...faults);
  }

  async prepare(claims: readonly Claim[], signal: AbortSignal): Promise<NodePrepareResourcesResponse> {
    const answer = await this.#answer('prepare', claims, signal, (claim) => {
      const devices = this.prepared.get(claim.uid) ?? this.#devicesOf(claim).map(fullDevice);
      this.prepared.set(claim.uid, devices);
      return { devices: [...devices] };
    });
    return { claims: answer };
  }

  async unprepare(claims: readonly Claim[], signal: AbortSignal): Promise<NodeUnprepareResourcesResponse> {
    const answer = await this.#answer('unprepare', claims, signal, ({ uid }) => {
      this.prepared.delete(uid);
      return {};
    });
    return { claims: answer };
  }

  async #answer<T extends object>(
    method: DraCall['method'],
    claims: readonly Claim[],
    signal: AbortSignal,
    work: (claim: Claim) => T,
  ): Promise<Record<string, T & { devices: Device[]; error: string }>> {
    this.calls.push({ method, claims: claims.map(({ name }) => name) });
    const fault = this.#faults.shift();
    if (fault?.kind === 'hang') await untilAborted(signal);
    if (fault?.kind === 'error' && !fault.after) throw fault.error;
    const error = fault?.kind === 'claimError' ? fault.error : '';
    const done = fault?.kind === 'skip' ? claims.slice(0, -1) : claims;
    const answers = done.map((claim) => {
      const result = error === '' ? work(claim) : ({} as T);
      const answer: { devices: Device[]; error: string } & T = { devices: [] as Device[], ...result, error };
      return [claim.uid, answer] as const;
    });
    if (fault?.kind === 'error') throw fault.error;
    const more = fault?.kind === 'unknownClaim' ? [[fault.uid, { devices: [], error: '' } as never] as const] : [];
    return Object.fromEntries([...answers, ...more]);
  }
}

function fullDevice(device: Partial<Device>, index: number): Device {
  return {
    requestNames: [],
    poolName: 'pool',
    deviceName: `device-${index}`,
    cdiDeviceIds: [],
    shareId: '',
    ...device,
  };
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
