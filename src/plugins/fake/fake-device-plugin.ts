import { aborted } from '../../base/aborted.ts';
import type { DevicePlugin, PluginDevice, PreferredAllocationRequest } from '../device/device-plugin.ts';
import { ContainerAllocateResponse } from '../generated/deviceplugin-v1beta1.ts';

export type DeviceCall = 'preferredAllocation' | 'allocate' | 'preStartContainer';

/** What a call does instead of its answer. */
export type DeviceFault = { readonly kind: 'hang' } | { readonly kind: 'error'; readonly error: Error };

export interface FakeDevicePluginOptions {
  readonly resourceName?: string;
  readonly preStartRequired?: boolean;
  readonly getPreferredAllocationAvailable?: boolean;
}

/** An in-memory device plugin. Each device is a file below `/dev`, and a variable names the devices of a container. */
export class FakeDevicePlugin implements DevicePlugin {
  readonly resourceName: string;
  readonly options: DevicePlugin['options'];
  readonly calls: { readonly method: DeviceCall; readonly ids: readonly string[] }[] = [];
  /** By method. */
  readonly faults = new Map<DeviceCall, DeviceFault>();
  /** The answer to `GetPreferredAllocation`. */
  prefers: (request: PreferredAllocationRequest) => readonly string[] = () => [];
  /** The answer to `Allocate`. */
  answers: (ids: readonly string[]) => ContainerAllocateResponse | undefined = deviceFiles;

  constructor(options: FakeDevicePluginOptions = {}) {
    const { resourceName = 'example.com/gpu', preStartRequired = false } = options;
    this.resourceName = resourceName;
    this.options = {
      preStartRequired,
      getPreferredAllocationAvailable: options.getPreferredAllocationAvailable ?? false,
    };
  }

  async preferredAllocation(request: PreferredAllocationRequest, signal: AbortSignal): Promise<readonly string[]> {
    await this.#call('preferredAllocation', request.available, signal);
    return this.prefers(request);
  }

  async allocate(ids: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse | undefined> {
    await this.#call('allocate', ids, signal);
    return this.answers(ids);
  }

  async preStartContainer(ids: readonly string[], signal: AbortSignal): Promise<void> {
    await this.#call('preStartContainer', ids, signal);
  }

  async #call(method: DeviceCall, ids: readonly string[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.calls.push({ method, ids });
    const fault = this.faults.get(method);
    if (fault?.kind === 'error') throw fault.error;
    if (fault?.kind === 'hang') {
      await aborted(signal);
      throw signal.reason;
    }
  }
}

function deviceFiles(ids: readonly string[]): ContainerAllocateResponse {
  return ContainerAllocateResponse.fromPartial({
    envs: { DEVICES: ids.join(',') },
    devices: ids.map((id) => ({ hostPath: `/dev/${id}`, containerPath: `/dev/${id}`, permissions: 'rw' })),
  });
}

/** A report of healthy devices; an id may have its NUMA nodes and another health: `gpu-0@0,1!Unhealthy`. */
export function devicesOf(...specs: readonly string[]): ReadonlyMap<string, PluginDevice> {
  return new Map(
    specs.map((spec) => {
      const [, id = '', nodes, health = 'Healthy'] = /^([^@!]*)(?:@([\d,]+))?(?:!(.*))?$/.exec(spec) ?? [];
      return [id, { id, health, numaNodes: nodes === undefined ? [] : nodes.split(',').map(Number) }];
    }),
  );
}
