import type { PersistentVolumeClaim, Pod } from '../../../api/generated/core-v1.ts';
import type { Quantity } from '../../../base/quantity.ts';
import { formatTime } from '../../../base/rfc3339.ts';
import { isFinalCsiError } from '../../../plugins/csi/csi-drivers.ts';
import { goErrorText, PluginError } from '../../../plugins/plugin-error.ts';
import { claimReference } from '../../events/object-references.ts';
import type { VolumeSpec } from '../volume-spec.ts';
import {
  type ExpansionPlan,
  failedPatch,
  finishedPatch,
  inProgressPatch,
  isOutdated,
  planExpansion,
} from './claim-resize.ts';
import type { CsiPluginDeps } from './csi-deps.ts';
import { explained } from './csi-errors.ts';
import { credentialsOf } from './csi-objects.ts';
import { expandRequest } from './csi-requests.ts';
import type { PersistentCsiVolume } from './csi-volume.ts';

/** A volume of a pod that may have to grow. */
export interface ExpandableVolume {
  readonly volume: PersistentCsiVolume;
  readonly claim: PersistentVolumeClaim;
  readonly pod: Pod;
  readonly mode: VolumeSpec['mode'];
  /** `volume` is where the pod has it. */
  readonly paths: { readonly staging: string; readonly volume: string };
}

type Expansion = Extract<ExpansionPlan, { kind: 'expand' }>;

/** The codes of errors that a repeated call with the same size cannot avoid. */
const INFEASIBLE: ReadonlySet<string> = new Set(['InvalidArgument', 'OutOfRange', 'NotFound']);

/**
 * Expands the volume on the node if its persistent volume has grown, and reports it in the status of the claim. Rejects if
 * the pod must not use the volume like this.
 */
export async function expandVolume(target: ExpandableVolume, deps: CsiPluginDeps, signal: AbortSignal): Promise<void> {
  const { volume, claim, pod } = target;
  const { uses } = deps.csi;
  if (!deps.csi.api) return; // no controller grows volumes, and no claim could show it
  const plan = planExpansion(claim, volume.pv, uses.sizes.of(volume.id));
  if (plan.kind === 'none') return uses.sizes.set(volume.id, plan.size);
  if (uses.sizes.isRefused(volume.id)) return;
  if (volume.readOnly) {
    const message = `MountVolume.NodeExpandVolume failed for volume "${volume.name}" requested read-only file system`;
    deps.events.record(pod, 'Warning', 'FileSystemResizeFailed', message);
    deps.events.recordOf(claimReference(claim), 'Warning', 'FileSystemResizeFailed', message);
    return uses.sizes.set(volume.id, plan.newSize);
  }
  await uses.inTurn(volume.id, () => expand(target, plan, deps, signal), signal);
}

async function expand(
  target: ExpandableVolume,
  plan: Expansion,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const { volume, claim, pod } = target;
  const { uses } = deps.csi;
  const { newSize, withRecovery, isReported } = plan;
  const writes = withRecovery && !isReported;
  const current = writes ? await patchStatus(claim, inProgressPatch(claim), deps, signal) : claim;
  try {
    const isSupported = await callDriver(target, newSize.value(), plan, deps, signal);
    if (!isSupported) return uses.sizes.set(volume.id, newSize);
  } catch (error) {
    signal.throwIfAborted();
    if (withRecovery && isFinal(error)) await reportFailure(volume.id, current, newSize, error, deps, signal);
    if (!isInUse(error)) throw error;
    // The driver expands only volumes that are not in use: the next pod gets the new size.
    return uses.sizes.refuse(volume.id);
  }
  const nodeName = pod.spec.nodeName ?? '';
  const message = `MountVolume.NodeExpandVolume succeeded for volume "${volume.name}" ${nodeName}`;
  deps.events.record(pod, 'Normal', 'FileSystemResizeSuccessful', message);
  deps.events.recordOf(claimReference(current), 'Normal', 'FileSystemResizeSuccessful', message);
  uses.sizes.set(volume.id, newSize);
  if (isReported) return;
  const what = `mountVolume.NodeExpandVolume update ${withRecovery ? 'pvc' : 'PVC'} status failed${withRecovery ? '' : ' '}`;
  await explained(what, () => patchStatus(current, finishedPatch(current, newSize), deps, signal), signal);
}

/** `false`: the driver does not expand volumes, and this is no failure. */
async function callDriver(
  { volume, mode, paths }: ExpandableVolume,
  bytes: bigint,
  { withRecovery, isReported }: Expansion,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const driver = deps.csi.drivers.driver(volume.driver);
  const { capabilities } = driver;
  if (!capabilities.has('EXPAND_VOLUME')) {
    if (!withRecovery || isReported) return false;
    throw new ExpansionRefused(`NodeExpand is not supported by the CSI driver ${volume.driver}`);
  }
  const { expandSecret } = volume;
  const secrets = await explained(
    `expander.NodeExpand failed to get NodeExpandSecretRef ${expandSecret?.namespace}/${expandSecret?.name}`,
    () => credentialsOf(expandSecret, deps, signal),
    signal,
  );
  const request = expandRequest(volume, paths, bytes, { capabilities, mode, secrets });
  try {
    await driver.expandVolume(request, signal, volume.isMigrated);
  } catch (error) {
    signal.throwIfAborted();
    const colon = error instanceof PluginError && INFEASIBLE.has(error.code) ? '' : ' :';
    const message = `Expander.NodeExpand failed to expand the volume${colon} ${goErrorText(error)}`;
    throw new Error(message, { cause: error });
  }
  return true;
}

/** The driver cannot expand volumes, and the controller expects it to. */
class ExpansionRefused extends Error {
  override readonly name = 'ExpansionRefused';
}

/** Whether the call certainly had no effect: only then the claim shows the error. */
function isFinal(error: unknown): boolean {
  if (error instanceof ExpansionRefused) return true;
  return error instanceof Error && error.cause instanceof PluginError && isFinalCsiError(error.cause);
}

function isInUse(error: unknown): boolean {
  return error instanceof Error && error.cause instanceof PluginError && error.cause.code === 'FailedPrecondition';
}

async function reportFailure(
  id: string,
  claim: PersistentVolumeClaim,
  newSize: Quantity,
  error: unknown,
  deps: CsiPluginDeps,
  signal: AbortSignal,
): Promise<void> {
  const hasFailedBefore = deps.csi.uses.sizes.fail(id);
  const isInfeasible = error instanceof Error && error.cause instanceof PluginError && INFEASIBLE.has(error.cause.code);
  const takesBack = isInfeasible || (hasFailedBefore && isOutdated(claim, newSize));
  const patch = failedPatch(claim, goErrorText(error), takesBack, formatTime(deps.clock.now()));
  // The error of the driver is the one to report; the claim shows it after the next attempt.
  if (patch) await patchStatus(claim, patch, deps, signal).catch(() => signal.throwIfAborted());
}

async function patchStatus(
  { metadata }: PersistentVolumeClaim,
  patch: object,
  { csi }: CsiPluginDeps,
  signal: AbortSignal,
): Promise<PersistentVolumeClaim> {
  const { api } = csi;
  const { name, namespace } = metadata;
  const key = { resource: 'persistentvolumeclaims', namespace: namespace ?? '', name } as const;
  if (!api) throw new Error('there is no API server that could store the size of the claim');
  const what = `patchPVCStatus failed to patch PVC "${name}"`;
  return explained(what, () => api.patch(key, patch, { subresource: 'status' }, signal), signal);
}
