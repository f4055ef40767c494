import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import { type DraDriver, DraDriverNotRegisteredError, type DraDrivers } from '../../src/plugins/dra/dra-drivers.ts';
import type { Claim, Device } from '../../src/plugins/generated/dra-v1.ts';
import { PluginError } from '../../src/plugins/plugin-error.ts';
import type { Draw } from './draw.ts';
import type { Gate } from './gate.ts';
import { CLAIMS, DRA_DRIVERS, type MachineFault } from './plan-machine.ts';
import { NAMESPACES } from './plan-objects.ts';

const FOREVER = new AbortController().signal;
/** kubelet's deadline of a call to a DRA driver. */
const DEADLINE_MS = 45_000;
const NO_DEVICE = { requestNames: [], poolName: 'pool', deviceName: 'device', shareId: '' };

interface Answers {
  claims: Record<string, { devices: Device[]; error: string }>;
}

type ClaimFault = Extract<MachineFault, { kind: 'claimDriverAway' | 'claimCall' }>;

/** A call of the agent for one claim. */
export interface ClaimCall {
  readonly method: 'prepare' | 'unprepare';
  readonly driver: string;
  readonly uid: string;
}

export interface SimClaimsDeps {
  readonly clock: VirtualClock;
  /** Called for each claim of a call, before it has any effect. */
  readonly onCall: (call: ClaimCall) => void;
}

/** DRA drivers, which outlive the agent processes, and allocated claims. */
export class SimClaims {
  readonly #deps: SimClaimsDeps;
  /** CDI devices that exist: one for each claim that a driver has prepared. */
  readonly #prepared = new Set<string>();
  /** Claims of containers that the current agent process has created since it prepared them; kept by the checks. */
  readonly used = new Set<string>();
  readonly #away = new Set<string>();
  readonly #faults: Extract<ClaimFault, { kind: 'claimCall' }>[] = [];
  readonly #listeners = new Set<(driver: string) => void>();
  #api: ApiServer | undefined;

  constructor(deps: SimClaimsDeps) {
    this.#deps = deps;
  }

  /** The CDI devices of prepared claims. */
  get prepared(): ReadonlySet<string> {
    return this.#prepared;
  }

  /** Creates allocated claims in all namespaces. */
  async prepare(api: ApiServer): Promise<void> {
    this.#api = api;
    for (const namespace of NAMESPACES) {
      for (const [name, drivers] of CLAIMS) {
        const key = { resource: 'resourceclaims', namespace, name } as const;
        await api.create(key, { metadata: { name, namespace }, spec: {} }, FOREVER);
        const results = drivers.map((driver) => ({ driver, pool: 'pool', device: 'device', request: 'r' }));
        const status = { allocation: { devices: { results } }, reservedFor: [] };
        await api.patch(key, { status }, { subresource: 'status' }, FOREVER);
      }
    }
  }

  /** As the scheduler does: reserves the claims of a pod for it, some time after the pod was created. */
  reserve(pod: Pod, delayMs: number): void {
    const names = (pod.spec.resourceClaims ?? []).flatMap(({ resourceClaimName }) => resourceClaimName ?? []);
    for (const name of names) this.#deps.clock.schedule(delayMs, () => void this.#reserve(pod, name));
  }

  async #reserve({ metadata: { namespace, name: podName, uid } }: Pod, name: string): Promise<void> {
    const key = { resource: 'resourceclaims', namespace, name } as const;
    const claim = await this.#api?.get(key, FOREVER);
    const before = claim?.status?.reservedFor ?? [];
    if (before.some((each) => each.uid === uid)) return;
    const reservedFor = [...before, { resource: 'pods', name: podName, uid }];
    await this.#api?.patch(key, { status: { reservedFor } }, { subresource: 'status' }, FOREVER);
  }

  inject(fault: ClaimFault): void {
    if (fault.kind === 'claimCall') {
      this.#faults.push(fault);
      return;
    }
    this.#away.add(fault.driver);
    this.#deps.clock.schedule(fault.ms, () => this.#register(fault.driver));
  }

  endFaults(): void {
    this.#faults.length = 0;
    for (const driver of DRA_DRIVERS) this.#register(driver);
  }

  /** An agent process starts. */
  agentStarted(): void {
    this.used.clear();
  }

  /** The machine was powered off: nothing is prepared any more. */
  reset(): void {
    this.#prepared.clear();
  }

  /** The drivers as one agent process reaches them. */
  driversOf(gate: Gate, pace: Draw): DraDrivers {
    const drivers = new Map(DRA_DRIVERS.map((name) => [name, this.#driver(name, gate, pace)]));
    return {
      driver: (name) => {
        const driver = this.#away.has(name) ? undefined : drivers.get(name);
        if (!driver) throw new DraDriverNotRegisteredError(name);
        return driver;
      },
      subscribe: (listener) => {
        const each = (name: string): void => {
          if (!gate.isClosed) listener(name);
        };
        this.#listeners.add(each);
        return () => void this.#listeners.delete(each);
      },
    };
  }

  #driver(name: string, gate: Gate, pace: Draw): DraDriver {
    const call = (
      method: ClaimCall['method'],
      claims: readonly Claim[],
      signal: AbortSignal,
      work: (device: string) => Device[],
    ): Promise<Answers> =>
      gate.pass(async () => {
        for (const { uid } of claims) this.#deps.onCall({ method, driver: name, uid });
        if (pace.chance(0.5)) await gate.clock.sleep(pace.int(1, 2_000), signal);
        const how = this.#takeFault(name, method);
        if (how === 'hang') await gate.clock.sleep(DEADLINE_MS, signal);
        if (how === 'hang') throw new PluginError('DeadlineExceeded', 'context deadline exceeded', method);
        if (how === 'before') throw new PluginError('Unavailable', 'simulated', method);
        const done = how === 'skip' ? claims.slice(0, -1) : claims;
        const error = how === 'claimError' ? 'simulated' : '';
        const answers = done.map(({ uid }) => {
          return [uid, { devices: error === '' ? work(cdiDevice(name, uid)) : [], error }] as const;
        });
        if (how === 'after') throw new PluginError('Unavailable', 'simulated', method);
        return { claims: Object.fromEntries(answers) };
      });
    return {
      name,
      prepare: (claims, signal) => call('prepare', claims, signal, (device) => this.#prepare(device)),
      unprepare: (claims, signal) => call('unprepare', claims, signal, (device) => this.#unprepare(device)),
    };
  }

  #prepare(device: string): Device[] {
    this.#prepared.add(device);
    return [{ ...NO_DEVICE, cdiDeviceIds: [device] }];
  }

  #unprepare(device: string): Device[] {
    this.#prepared.delete(device);
    return [];
  }

  #register(driver: string): void {
    if (!this.#away.delete(driver)) return;
    for (const listener of [...this.#listeners]) listener(driver);
  }

  #takeFault(
    driver: string,
    method: ClaimCall['method'],
  ): Extract<ClaimFault, { kind: 'claimCall' }>['how'] | undefined {
    const index = this.#faults.findIndex((each) => each.driver === driver && each.method === method);
    return index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.how;
  }
}

/** The fully qualified name of the CDI device of a claim. */
export function cdiDevice(driver: string, uid: string): string {
  return `${driver}/claim=${uid}`;
}

/** The UID of the claim that a CDI device belongs to. */
export function claimOf(device: string): string {
  return device.slice(device.indexOf('=') + 1);
}
