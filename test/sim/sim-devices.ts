import { aborted } from '../../src/base/aborted.ts';
import { assertNever } from '../../src/base/assert-never.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { DevicePlugin, DevicePluginReceiver, PluginDevice } from '../../src/plugins/device/device-plugin.ts';
import { ContainerAllocateResponse } from '../../src/plugins/generated/deviceplugin-v1beta1.ts';
import { PluginError } from '../../src/plugins/plugin-error.ts';
import type { Draw } from './draw.ts';
import type { Gate } from './gate.ts';
import { type CallFault, DEVICES, type DeviceMethod, type MachineFault } from './plan-machine.ts';

/** A call without an answer ends after this time. */
const DEADLINE_MS = 60_000;
/** The longest time after which a plugin has registered with a new agent process. */
const REGISTER_MS = 15_000;

export interface SimDevicesDeps {
  readonly clock: VirtualClock;
  /** The NUMA nodes of the machine. */
  readonly numaNodes: readonly number[];
  /** Called for each allocation, before it has any effect. */
  readonly onAllocate: (resource: string, ids: readonly string[]) => void;
  /** The agent uses a plugin or a device that it must not use. */
  readonly onBrokenRule: (message: string) => void;
}

/** The plugin of one resource, as one agent process is connected to it. */
interface Connection {
  readonly receiver: DevicePluginReceiver;
  readonly gate: Gate;
  readonly pace: Draw;
  plugin: SimPlugin | undefined;
}

type DeviceFault = Extract<
  MachineFault,
  { kind: 'deviceHealth' | 'devicePluginAway' | 'devicePluginRolls' | 'deviceCall' }
>;

/** Device plugins, which outlive the agent processes. */
export class SimDevices {
  readonly #deps: SimDevicesDeps;
  readonly #connections = new Map<string, Connection>();
  readonly #unhealthy = new Set<string>();
  readonly #away = new Set<string>();
  readonly #faults: Extract<DeviceFault, { kind: 'deviceCall' }>[] = [];

  constructor(deps: SimDevicesDeps) {
    this.#deps = deps;
  }

  /** Registers all plugins with a new agent process, one after the other. */
  connect(receiver: DevicePluginReceiver, gate: Gate, pace: Draw): void {
    for (const resource of DEVICES.keys()) {
      const connection: Connection = { receiver, gate, pace, plugin: undefined };
      this.#connections.set(resource, connection);
      const register = (): void => {
        if (!this.#away.has(resource) && !connection.plugin) this.#register(resource, connection, 0);
      };
      gate.clock.sleep(pace.int(0, REGISTER_MS), gate.closed).then(register, () => undefined);
    }
  }

  inject(fault: DeviceFault): void {
    switch (fault.kind) {
      case 'deviceCall':
        this.#faults.push(fault);
        return;
      case 'deviceHealth':
        return this.#makeUnhealthy(fault);
      case 'devicePluginAway':
        return this.#remove(fault);
      case 'devicePluginRolls': {
        const connection = this.#connections.get(fault.resource);
        if (connection?.plugin) this.#register(fault.resource, connection, fault.ms);
        return;
      }
      default:
        return assertNever(fault);
    }
  }

  endFaults(): void {
    this.#faults.length = 0;
    for (const resource of [...this.#away]) this.#return(resource);
  }

  /** Whether the current agent process has a report of the resource from a plugin that is connected. */
  isReported(resource: string): boolean {
    return this.#connections.get(resource)?.plugin?.reported !== undefined;
  }

  takeFault(method: DeviceMethod): CallFault | undefined {
    const index = this.#faults.findIndex((each) => each.method === method);
    return index < 0 ? undefined : this.#faults.splice(index, 1)[0]?.how;
  }

  #makeUnhealthy({ resource, index, ms }: Extract<DeviceFault, { kind: 'deviceHealth' }>): void {
    const id = deviceId(resource, index);
    this.#unhealthy.add(id);
    this.#report(resource);
    this.#deps.clock.schedule(ms, () => {
      this.#unhealthy.delete(id);
      this.#report(resource);
    });
  }

  #remove({ resource, ms }: Extract<DeviceFault, { kind: 'devicePluginAway' }>): void {
    this.#away.add(resource);
    const connection = this.#connections.get(resource);
    const plugin = connection?.plugin;
    if (connection && plugin) {
      connection.plugin = undefined;
      plugin.isOver = true;
      if (!connection.gate.isClosed) connection.receiver.disconnected(plugin);
    }
    this.#deps.clock.schedule(ms, () => this.#return(resource));
  }

  #return(resource: string): void {
    if (!this.#away.delete(resource)) return;
    const connection = this.#connections.get(resource);
    if (connection && !connection.plugin) this.#register(resource, connection, 0);
  }

  #register(resource: string, connection: Connection, reportMs: number): void {
    const { gate, pace, receiver } = connection;
    if (gate.isClosed) return;
    if (connection.plugin) connection.plugin.isOver = true;
    const plugin = new SimPlugin(resource, {
      ...this.#deps,
      gate,
      pace,
      takeFault: (method) => this.takeFault(method),
    });
    connection.plugin = plugin;
    receiver.connected(plugin);
    this.#deps.clock.schedule(reportMs + pace.int(0, 500), () => {
      plugin.isReporting = true;
      this.#report(resource);
    });
  }

  #report(resource: string): void {
    const connection = this.#connections.get(resource);
    const plugin = connection?.plugin;
    if (!plugin?.isReporting || !connection || connection.gate.isClosed) return;
    const count = DEVICES.get(resource) ?? 0;
    const { numaNodes } = this.#deps;
    const devices = Array.from({ length: count }, (_, index): PluginDevice => {
      const id = deviceId(resource, index);
      const node = numaNodes[index % numaNodes.length];
      const health = this.#unhealthy.has(id) ? 'Unhealthy' : 'Healthy';
      return { id, health, numaNodes: node === undefined ? [] : [node] };
    });
    plugin.reported = new Map(devices.map((each) => [each.id, each]));
    connection.receiver.reported(plugin, plugin.reported);
  }
}

interface SimPluginDeps extends SimDevicesDeps {
  readonly gate: Gate;
  readonly pace: Draw;
  readonly takeFault: (method: DeviceMethod) => CallFault | undefined;
}

/** One registration of a plugin with one agent process. */
class SimPlugin implements DevicePlugin {
  readonly resourceName: string;
  readonly options: DevicePlugin['options'];
  readonly #deps: SimPluginDeps;
  /** It has gone, or another one has replaced it. */
  isOver = false;
  isReporting = false;
  reported: ReadonlyMap<string, PluginDevice> | undefined;

  constructor(resourceName: string, deps: SimPluginDeps) {
    this.resourceName = resourceName;
    this.#deps = deps;
    const isFirst = resourceName === [...DEVICES.keys()][0];
    this.options = { preStartRequired: isFirst, getPreferredAllocationAvailable: !isFirst };
  }

  preferredAllocation: DevicePlugin['preferredAllocation'] = ({ available, mustInclude, size }, signal) =>
    this.#call('preferredAllocation', signal, () => {
      const rest = available.filter((id) => !mustInclude.includes(id)).toReversed();
      return [...mustInclude, ...rest].slice(0, size);
    });

  allocate: DevicePlugin['allocate'] = (ids, signal) => {
    this.#checkUsable(ids);
    return this.#call('allocate', signal, () => {
      this.#deps.onAllocate(this.resourceName, ids);
      const devices = ids.map((id) => ({ hostPath: `/dev/${id}`, containerPath: `/dev/${id}`, permissions: 'rw' }));
      return ContainerAllocateResponse.fromPartial({ devices });
    });
  };

  preStartContainer: DevicePlugin['preStartContainer'] = (_ids, signal) =>
    this.#call('preStartContainer', signal, () => undefined);

  #checkUsable(ids: readonly string[]): void {
    const { gate, onBrokenRule } = this.#deps;
    if (gate.isClosed) return;
    if (this.isOver) onBrokenRule(`${ids} are allocated by a plugin that is gone`);
    const unhealthy = ids.filter((id) => this.reported && this.reported.get(id)?.health !== 'Healthy');
    if (unhealthy.length > 0) onBrokenRule(`${unhealthy} are allocated, though they are not healthy`);
  }

  #call<T>(method: DeviceMethod, signal: AbortSignal, work: () => T): Promise<T> {
    const { gate, pace, takeFault } = this.#deps;
    return gate.pass(async () => {
      if (pace.chance(0.5)) await gate.clock.sleep(pace.int(1, 2_000), signal);
      const fault = takeFault(method);
      if (this.isOver || fault === 'before') throw new PluginError('Unavailable', 'simulated', method);
      if (fault === 'hang') {
        await Promise.race([gate.clock.sleep(DEADLINE_MS, signal), aborted(signal)]);
        signal.throwIfAborted();
        throw new PluginError('DeadlineExceeded', 'context deadline exceeded', method);
      }
      const result = work();
      if (fault === 'after') throw new PluginError('Unavailable', 'simulated', method);
      return result;
    });
  }
}

export function deviceId(resource: string, index: number): string {
  return `${resource.slice(resource.indexOf('/') + 1)}-${index % (DEVICES.get(resource) ?? 1)}`;
}
