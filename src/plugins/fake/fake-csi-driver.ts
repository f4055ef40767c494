import type { CriCode } from '../../cri/cri-error.ts';
import type { Clock } from '../../host/clock.ts';
import type { CsiDriver, CsiNodeCapability } from '../csi/csi-drivers.ts';
import {
  type NodeExpandVolumeRequest,
  type NodeExpandVolumeResponse,
  type NodeGetVolumeStatsRequest,
  type NodeGetVolumeStatsResponse,
  type NodePublishVolumeRequest,
  type NodeStageVolumeRequest,
  type NodeUnpublishVolumeRequest,
  type NodeUnstageVolumeRequest,
  VolumeUsage_Unit,
} from '../generated/csi-v1.ts';
import { PluginError } from '../plugin-error.ts';
import { BrokenRule, type FakeCsiVolume, FakeCsiVolumes } from './fake-csi-volumes.ts';

export type CsiMethod =
  | 'NodeStageVolume'
  | 'NodeUnstageVolume'
  | 'NodePublishVolume'
  | 'NodeUnpublishVolume'
  | 'NodeExpandVolume'
  | 'NodeGetVolumeStats';

/** A fault of one call, before or after the call has its effect. A call that hangs ends with kubelet's timeout. */
export type CsiFault =
  | {
      readonly kind: 'error';
      readonly code: CriCode;
      readonly message?: string | undefined;
      readonly when?: 'before' | 'after' | undefined;
    }
  | { readonly kind: 'hang'; readonly when?: 'before' | 'after' | undefined };

/** A recorded call. */
export interface CsiCall {
  readonly method: CsiMethod;
  readonly volumeId: string;
  readonly request: CsiRequest;
  readonly isMigrated: boolean;
}

export type CsiRequest =
  | NodeStageVolumeRequest
  | NodeUnstageVolumeRequest
  | NodePublishVolumeRequest
  | NodeUnpublishVolumeRequest
  | NodeExpandVolumeRequest
  | NodeGetVolumeStatsRequest;

/** What a driver does on the machine: see `mountCsiVolumes`. Each is called once per change, not for repeated calls. */
export interface CsiEffects {
  stage(request: NodeStageVolumeRequest): Promise<void>;
  unstage(request: NodeUnstageVolumeRequest): Promise<void>;
  publish(request: NodePublishVolumeRequest): Promise<void>;
  /** Also for a target that is not known as published: the driver may have been restarted. */
  unpublish(request: NodeUnpublishVolumeRequest): Promise<void>;
}

export interface FakeCsiDriverOptions {
  readonly name: string;
  readonly clock: Clock;
  /** Absent: all of them. */
  readonly capabilities?: readonly CsiNodeCapability[] | undefined;
  /** Absent: calls change only the driver's own state. */
  readonly effects?: CsiEffects | undefined;
  /** The volumes of an earlier driver, from `volumes`. Absent: none. */
  readonly volumes?: Readonly<Record<string, FakeCsiVolume>> | undefined;
  /** Decides the fault of a call that none was queued for; for simulators. */
  readonly faultOf?: ((call: CsiCall) => CsiFault | undefined) | undefined;
  /** Called with the error of a call that broke a rule of CSI. */
  readonly onBrokenRule?: ((message: string) => void) | undefined;
}

const ALL_CAPABILITIES: readonly CsiNodeCapability[] = [
  'STAGE_UNSTAGE_VOLUME',
  'GET_VOLUME_STATS',
  'EXPAND_VOLUME',
  'VOLUME_CONDITION',
  'SINGLE_NODE_MULTI_WRITER',
  'VOLUME_MOUNT_GROUP',
];

const TIMEOUT_MS = 120_000;

/**
 * A CSI driver in memory. It enforces the rules of CSI:
 * 1. Publishing a volume that is not staged fails with `FailedPrecondition`, if the driver stages volumes.
 * 2. Unstaging a volume that is still published fails with `FailedPrecondition`.
 * 3. A repeated call succeeds and has no further effect; with other parameters it fails with `AlreadyExists`.
 * 4. A call while another one of the same volume is in progress fails with `Aborted`.
 * 5. A call without the driver's capability fails with `Unimplemented`, one with a missing field with `InvalidArgument`.
 */
export class FakeCsiDriver implements CsiDriver {
  readonly name: string;
  readonly capabilities: ReadonlySet<CsiNodeCapability>;
  readonly #options: FakeCsiDriverOptions;
  readonly #volumes: FakeCsiVolumes;
  readonly #calls: CsiCall[] = [];
  readonly #faults: { readonly method: CsiMethod; readonly fault: CsiFault }[] = [];
  readonly #busy = new Set<string>();

  constructor(options: FakeCsiDriverOptions) {
    this.name = options.name;
    this.capabilities = new Set(options.capabilities ?? ALL_CAPABILITIES);
    this.#options = options;
    this.#volumes = new FakeCsiVolumes(options.volumes);
  }

  /** Every call so far, also those that failed. */
  get calls(): readonly CsiCall[] {
    return this.#calls;
  }

  /** Where the driver's volumes are now, by their ids; those that are nowhere are left out. */
  get volumes(): Readonly<Record<string, FakeCsiVolume>> {
    return this.#volumes.all();
  }

  /** The next call of this RPC fails. Faults of one RPC are used in the order in which they were added. */
  failNext(method: CsiMethod, fault: CsiFault): void {
    this.#faults.push({ method, fault });
  }

  stageVolume(request: NodeStageVolumeRequest, signal: AbortSignal, isMigrated?: boolean): Promise<void> {
    const work = async (): Promise<void> => {
      this.#require('STAGE_UNSTAGE_VOLUME');
      requireFields(request, 'volumeId', 'stagingTargetPath', 'volumeCapability');
      if (!this.#volumes.needsStage(request)) return;
      await this.#options.effects?.stage(request);
      this.#volumes.stage(request);
    };
    return this.#answer('NodeStageVolume', request, signal, work, isMigrated);
  }

  unstageVolume(request: NodeUnstageVolumeRequest, signal: AbortSignal): Promise<void> {
    return this.#answer('NodeUnstageVolume', request, signal, async () => {
      this.#require('STAGE_UNSTAGE_VOLUME');
      requireFields(request, 'volumeId', 'stagingTargetPath');
      if (!this.#volumes.needsUnstage(request)) return;
      await this.#options.effects?.unstage(request);
      this.#volumes.unstage(request.volumeId);
    });
  }

  publishVolume(request: NodePublishVolumeRequest, signal: AbortSignal, isMigrated?: boolean): Promise<void> {
    const work = async (): Promise<void> => {
      requireFields(request, 'volumeId', 'targetPath', 'volumeCapability');
      if (!this.#volumes.needsPublish(request, this.capabilities.has('STAGE_UNSTAGE_VOLUME'))) return;
      await this.#options.effects?.publish(request);
      this.#volumes.publish(request);
    };
    return this.#answer('NodePublishVolume', request, signal, work, isMigrated);
  }

  unpublishVolume(request: NodeUnpublishVolumeRequest, signal: AbortSignal): Promise<void> {
    return this.#answer('NodeUnpublishVolume', request, signal, async () => {
      requireFields(request, 'volumeId', 'targetPath');
      await this.#options.effects?.unpublish(request);
      this.#volumes.unpublish(request.volumeId, request.targetPath);
    });
  }

  expandVolume(
    request: NodeExpandVolumeRequest,
    signal: AbortSignal,
    isMigrated?: boolean,
  ): Promise<NodeExpandVolumeResponse> {
    const work = async () => {
      this.#require('EXPAND_VOLUME');
      requireFields(request, 'volumeId', 'volumePath');
      this.#requireAt(request.volumeId, request.volumePath);
      const required = Number(request.capacityRange?.requiredBytes ?? 0n);
      return { capacityBytes: BigInt(this.#volumes.expand(request.volumeId, required)) };
    };
    return this.#answer('NodeExpandVolume', request, signal, work, isMigrated);
  }

  volumeStats(request: NodeGetVolumeStatsRequest, signal: AbortSignal): Promise<NodeGetVolumeStatsResponse> {
    return this.#answer('NodeGetVolumeStats', request, signal, async () => {
      this.#require('GET_VOLUME_STATS');
      requireFields(request, 'volumeId', 'volumePath');
      const { capacityBytes } = this.#requireAt(request.volumeId, request.volumePath);
      const total = BigInt(capacityBytes);
      const used = total / 4n;
      return {
        usage: [{ total, used, available: total - used, unit: VolumeUsage_Unit.BYTES }],
        volumeCondition: this.capabilities.has('VOLUME_CONDITION')
          ? { abnormal: false, message: 'healthy' }
          : undefined,
      };
    });
  }

  async #answer<T>(
    method: CsiMethod,
    request: CsiRequest,
    signal: AbortSignal,
    work: () => Promise<T>,
    isMigrated = false,
  ): Promise<T> {
    signal.throwIfAborted();
    const { volumeId } = request;
    const call = { method, volumeId, request, isMigrated };
    this.#calls.push(call);
    const fault = this.#takeFault(call);
    if (this.#busy.has(volumeId)) {
      throw new PluginError('Aborted', `an operation with the given volume ID ${volumeId} already exists`, method);
    }
    this.#busy.add(volumeId);
    try {
      if (fault?.when !== 'after') await this.#fail(fault, method, signal);
      const answer = await work();
      if (fault?.when === 'after') await this.#fail(fault, method, signal);
      return answer;
    } catch (error) {
      if (error instanceof BrokenRule) {
        this.#options.onBrokenRule?.(`${method}: ${error.message}`);
        throw new PluginError(error.code, error.message, method, { cause: error });
      }
      if (error instanceof PluginError || signal.aborted) throw error;
      throw new PluginError('Internal', error instanceof Error ? error.message : String(error), method, {
        cause: error,
      });
    } finally {
      this.#busy.delete(volumeId);
    }
  }

  #takeFault(call: CsiCall): CsiFault | undefined {
    const index = this.#faults.findIndex(({ method }) => method === call.method);
    if (index < 0) return this.#options.faultOf?.(call);
    return this.#faults.splice(index, 1)[0]?.fault;
  }

  async #fail(fault: CsiFault | undefined, method: CsiMethod, signal: AbortSignal): Promise<void> {
    if (fault === undefined) return;
    if (fault.kind === 'error') throw new PluginError(fault.code, fault.message ?? `injected ${fault.code}`, method);
    await this.#options.clock.sleep(TIMEOUT_MS, signal);
    throw new PluginError('DeadlineExceeded', 'context deadline exceeded', method);
  }

  #require(capability: CsiNodeCapability): void {
    if (!this.capabilities.has(capability)) throw new BrokenRule('Unimplemented', `the driver has no ${capability}`);
  }

  /** Throws unless the volume is staged or published at the path. */
  #requireAt(volumeId: string, path: string): FakeCsiVolume {
    const volume = this.#volumes.find(volumeId);
    const isThere = volume?.staged?.path === path || volume?.published.some((each) => each.path === path);
    if (!volume || !isThere) throw new BrokenRule('NotFound', `volume ${volumeId} is not at ${path}`);
    return volume;
  }
}

function requireFields<T>(request: T, ...fields: readonly (keyof T & string)[]): void {
  for (const field of fields) {
    if (!request[field]) throw new BrokenRule('InvalidArgument', `${field} missing in request`);
  }
}
