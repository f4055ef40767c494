import { ExpectedError } from '../../base/expected-error.ts';
import type { DeviceHealth } from '../generated/dra-health-v1alpha1.ts';
import type { Claim, NodePrepareResourcesResponse, NodeUnprepareResourcesResponse } from '../generated/dra-v1.ts';

/**
 * The kubelet plugin of a DRA driver. Every call rejects with a `PluginError`, or with the signal's reason after an abort.
 * A call without an answer ends after kubelet's 45 seconds with `DeadlineExceeded`.
 */
export interface DraDriver {
  readonly name: string;
  prepare(claims: readonly Claim[], signal: AbortSignal): Promise<NodePrepareResourcesResponse>;
  unprepare(claims: readonly Claim[], signal: AbortSignal): Promise<NodeUnprepareResourcesResponse>;
}

/** The DRA drivers that are registered on this node. */
export interface DraDrivers {
  /**
   * The newest plugin of the driver, of those that are connected if there are any. Throws a `DraDriverNotRegisteredError`
   * with kubelet's message for a driver that has none: one may register at any time.
   */
  driver(name: string): DraDriver;
  /** Calls the listener after a plugin of a driver has registered or connected. Returns the function that ends this. */
  subscribe(listener: (driverName: string) => void): () => void;
}

/** Receives what the plugins of drivers report about the health of their devices. */
export interface DraHealthListener {
  /** All devices that the plugin monitors. */
  onHealth(driverName: string, devices: readonly DeviceHealth[]): void;
  /** The plugin reports no more: nothing is known about its devices. */
  onHealthLost(driverName: string): void;
}

/** The driver is not registered on this node, or not yet. */
export class DraDriverNotRegisteredError extends ExpectedError {
  override readonly name = 'DraDriverNotRegisteredError';
  readonly driver: string;

  constructor(driver: string) {
    super(driver === '' ? 'DRA driver name is empty' : `DRA driver ${driver} is not registered`);
    this.driver = driver;
  }
}
