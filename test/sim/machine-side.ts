import type { Pod } from '../../src/api/generated/core-v1.ts';
import type { AgentParts, AgentSettings } from '../../src/app/agent.ts';
import { parseQuantity } from '../../src/base/quantity.ts';
import type { FakeRuntime } from '../../src/cri/fake/fake-runtime.ts';
import type { MemoryHost } from '../../src/host/fake/memory-host.ts';
import type { LoginManager } from '../../src/host/login-manager.ts';
import type { ApiServer } from '../../src/kubelet/api-client/api-server.ts';
import { machine } from '../../src/kubelet/cpu-manager/machines.fixture.ts';
import type { NodeSettings } from '../../src/kubelet/node/node-settings.ts';
import { Draw } from './draw.ts';
import type { Gate } from './gate.ts';
import { gatedLogin } from './gated-login.ts';
import type { MachineFault, MachinePlan } from './plan-machine.ts';
import { type ClaimCall, SimClaims } from './sim-claims.ts';
import { SimDevices } from './sim-devices.ts';
import { writeTopology } from './sim-machine.ts';
import { type Shutdown, SimPower } from './sim-power.ts';

export interface MachineSideDeps {
  readonly seed: number;
  readonly plan: MachinePlan;
  readonly hasApiServer: boolean;
  readonly host: MemoryHost;
  readonly runtime: FakeRuntime;
  readonly onAllocate: (resource: string, ids: readonly string[]) => void;
  readonly onClaimCall: (call: ClaimCall) => void;
  readonly onBrokenRule: (invariant: number, message: string) => void;
  readonly onReleased: (shutdown: Shutdown) => void;
  readonly onDelayed: (shutdown: Shutdown) => void;
  /** The machine loses power and boots after `bootMs`. */
  readonly onPowerOff: (bootMs: number) => void;
  readonly note: (line: string) => void;
}

/** The part of an agent process that depends on the machine. */
export interface MachineParts {
  readonly settings: Partial<AgentSettings>;
  readonly node: (settings: NodeSettings) => NodeSettings;
  readonly parts: Pick<AgentParts, 'connectDevicePlugins' | 'draDrivers'>;
  readonly loginManager: LoginManager;
}

const GATES = { alphaOptions: false, betaOptions: true };
const RESERVED_CPU = '1';
/** The node keeps it from pods by its eviction threshold. */
const KEPT_MEMORY = '1Gi';

/** CPUs, memory, devices and claims of a machine, and its power. */
export class MachineSide {
  readonly plan: MachinePlan;
  readonly devices: SimDevices;
  readonly claims: SimClaims;
  readonly power: SimPower;
  readonly #deps: MachineSideDeps;
  readonly #delays: Draw;

  constructor(deps: MachineSideDeps) {
    const { seed, plan, host, runtime, onAllocate, onClaimCall, onBrokenRule, onPowerOff } = deps;
    const { clock } = host;
    this.#deps = deps;
    this.plan = plan;
    this.#delays = new Draw(seed, 'reservations');
    const numaNodes = machine(plan.name).numaNodes.map(({ id }) => id);
    this.devices = new SimDevices({ clock, numaNodes, onAllocate, onBrokenRule: (text) => onBrokenRule(37, text) });
    this.claims = new SimClaims({ clock, onCall: onClaimCall });
    const { onReleased, onDelayed, note } = deps;
    const kill = (bootMs: number): void => {
      this.claims.reset();
      onPowerOff(bootMs);
    };
    this.power = new SimPower({ host, runtime, onReleased, onDelayed, note, kill });
  }

  /** Writes the description of the machine, and creates what exists before the first agent process. */
  async prepare(api: ApiServer): Promise<void> {
    await writeTopology(this.#deps.host.fs, machine(this.plan.name));
    if (this.#deps.hasApiServer) await this.claims.prepare(api);
  }

  /** A pod was created at the API server. */
  reserveClaims(pod: Pod): void {
    const delayMs = this.#delays.chance(0.5) ? 0 : this.#delays.int(1, 40_000);
    this.claims.reserve(pod, delayMs);
  }

  inject(fault: MachineFault): void {
    switch (fault.kind) {
      case 'claimDriverAway':
      case 'claimCall':
        return this.claims.inject(fault);
      case 'shutdown':
        return this.power.inject(fault);
      default:
        return this.devices.inject(fault);
    }
  }

  endFaults(): void {
    this.devices.endFaults();
    this.claims.endFaults();
  }

  /** What an agent process gets from the machine. */
  partsFor(gate: Gate, pace: Draw): MachineParts {
    const { host, hasApiServer } = this.#deps;
    return {
      settings: this.#settings(),
      node: (settings) => ({ ...settings, kubeReserved: new Map([['cpu', parseQuantity(RESERVED_CPU)]]) }),
      parts: {
        connectDevicePlugins: (receiver) => this.devices.connect(receiver, gate, pace),
        ...(hasApiServer && { draDrivers: this.claims.driversOf(gate, pace) }),
      },
      loginManager: gatedLogin(host.loginManager, gate, () => this.power.shutdown !== undefined),
    };
  }

  #settings(): Partial<AgentSettings> {
    const { cpuOptions, topology, shutdown } = this.plan;
    // A standalone node keeps no memory from its pods, which the memory manager requires.
    const isMemoryStatic = this.plan.isMemoryStatic && this.#deps.hasApiServer;
    const reserved = [{ numaNode: 0, limits: { memory: KEPT_MEMORY } }];
    return {
      cpuManager: {
        policy: 'static',
        options: cpuOptions,
        gates: GATES,
        reconcilePeriodMs: 10_000,
        reservedSystemCpus: '0',
        reservedMilliCpus: 0n,
        topologyManagerPolicy: topology.policy,
        disablesQuota: true,
      },
      topologyManager: topology,
      ...(isMemoryStatic && { memoryManager: { policy: 'Static', reserved } }),
      staticManagers: { cpu: true, memory: isMemoryStatic },
      ...(shutdown && { shutdown }),
    };
  }
}
