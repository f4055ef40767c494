import { ExpectedError } from '../../base/expected-error.ts';
import type {
  NodeExpandVolumeRequest,
  NodeExpandVolumeResponse,
  NodeGetVolumeStatsRequest,
  NodeGetVolumeStatsResponse,
  NodePublishVolumeRequest,
  NodeStageVolumeRequest,
  NodeUnpublishVolumeRequest,
  NodeUnstageVolumeRequest,
} from '../generated/csi-v1.ts';
import type { PluginError } from '../plugin-error.ts';

/** What a driver's node service can do. */
export type CsiNodeCapability =
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'VOLUME_CONDITION'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP';

/**
 * The node service of a CSI driver. Every call rejects with a `PluginError`, or with the signal's reason after an abort.
 * A call without an answer ends after kubelet's two minutes with `DeadlineExceeded`. `isMigrated`: the volume is of a type that
 * was migrated to the driver, by which the call is counted.
 */
export interface CsiNodeService {
  stageVolume(request: NodeStageVolumeRequest, signal: AbortSignal, isMigrated?: boolean): Promise<void>;
  unstageVolume(request: NodeUnstageVolumeRequest, signal: AbortSignal): Promise<void>;
  publishVolume(request: NodePublishVolumeRequest, signal: AbortSignal, isMigrated?: boolean): Promise<void>;
  unpublishVolume(request: NodeUnpublishVolumeRequest, signal: AbortSignal): Promise<void>;
  expandVolume(
    request: NodeExpandVolumeRequest,
    signal: AbortSignal,
    isMigrated?: boolean,
  ): Promise<NodeExpandVolumeResponse>;
  volumeStats(request: NodeGetVolumeStatsRequest, signal: AbortSignal): Promise<NodeGetVolumeStatsResponse>;
}

/** A driver that has registered. The value is immutable: a driver that registers again is a new one. */
export interface CsiDriver extends CsiNodeService {
  readonly name: string;
  /** Asked once per registration. */
  readonly capabilities: ReadonlySet<CsiNodeCapability>;
}

/** The CSI drivers that are registered on this node. */
export interface CsiDrivers {
  /**
   * Throws a `CsiDriverNotFoundError` with kubelet's message for a driver that is not registered: it may register at any
   * time.
   */
  driver(name: string): CsiDriver;
  /** Calls the listener after a driver has registered. Returns the function that ends the subscription. */
  subscribe(listener: (driverName: string) => void): () => void;
}

/**
 * Whether a failed call certainly had no effect, as kubelet's `IsOperationFinishedError` decides: after any other error the
 * volume may be mounted, and must be unmounted before it is forgotten.
 */
export function isFinalCsiError({ code }: PluginError): boolean {
  return !UNCERTAIN_CODES.has(code);
}

const UNCERTAIN_CODES: ReadonlySet<PluginError['code']> = new Set([
  'Canceled',
  'DeadlineExceeded',
  'Unavailable',
  'ResourceExhausted',
  'Aborted',
]);

/** The driver is not registered on this node, or not yet. */
export class CsiDriverNotFoundError extends ExpectedError {
  override readonly name = 'CsiDriverNotFoundError';
  readonly driver: string;

  constructor(driver: string) {
    super(`driver name ${driver} not found in the list of registered CSI drivers`);
    this.driver = driver;
  }
}
