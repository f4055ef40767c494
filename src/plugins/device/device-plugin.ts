import type { ContainerAllocateResponse } from '../generated/deviceplugin-v1beta1.ts';

/** The health of a device that can be assigned. Any other value is unhealthy. */
export const HEALTHY = 'Healthy';

/** A device as its plugin reports it. */
export interface PluginDevice {
  readonly id: string;
  /** `Healthy`, or any other text. */
  readonly health: string;
  /** Empty: the plugin did not report any. */
  readonly numaNodes: readonly number[];
}

export interface PreferredAllocationRequest {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

/** A registered device plugin. Calls reject with a `PluginError`, or with the signal's reason after an abort. */
export interface DevicePlugin {
  /** `example.com/gpu` */
  readonly resourceName: string;
  readonly options: { readonly preStartRequired: boolean; readonly getPreferredAllocationAvailable: boolean };
  /** The ids that the plugin would choose; they may be too few, too many or unknown. */
  preferredAllocation(request: PreferredAllocationRequest, signal: AbortSignal): Promise<readonly string[]>;
  /** `undefined`: the response is about no container. */
  allocate(deviceIds: readonly string[], signal: AbortSignal): Promise<ContainerAllocateResponse | undefined>;
  preStartContainer(deviceIds: readonly string[], signal: AbortSignal): Promise<void>;
}

/**
 * Receives what happens to device plugins.
 *
 * 1. `connected` comes first. A plugin that registers again is another `DevicePlugin`, and nothing more comes from the
 *    earlier one.
 * 2. `disconnected` comes last, unless another plugin has replaced it.
 */
export interface DevicePluginReceiver {
  connected(plugin: DevicePlugin): void;
  /** All devices of the plugin; an id that is reported twice counts once, with its last report. */
  reported(plugin: DevicePlugin, devices: ReadonlyMap<string, PluginDevice>): void;
  disconnected(plugin: DevicePlugin): void;
}
