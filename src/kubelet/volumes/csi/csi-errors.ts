import { errorText } from '../../../base/error-text.ts';
import { type CsiDriver, CsiDriverNotFoundError } from '../../../plugins/csi/csi-drivers.ts';
import { goErrorText } from '../../../plugins/plugin-error.ts';
import { CausedError, podCauseOf } from '../../pod/pod-cause.ts';
import type { CsiDeps } from './csi-deps.ts';
import { CSI_PLUGIN } from './csi-volume.ts';

/** Rejects with kubelet's `WHAT: CAUSE` if the work fails. An abort stays an abort. */
export async function explained<T>(what: string, work: () => Promise<T> | T, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    throw new CausedError(`${what}: ${goErrorText(error)}`, podCauseOf(error), { cause: error });
  }
}

/**
 * Throws `kubernetes.io/csi: WHAT: …` with a typed cause for a driver that is not registered. The pod is woken when it
 * registers; an empty `podUid` is work for the node.
 */
export function findDriver({ drivers, uses }: CsiDeps, name: string, podUid: string, what: string): CsiDriver {
  try {
    return drivers.driver(name);
  } catch (error) {
    const isMissing = error instanceof CsiDriverNotFoundError;
    if (isMissing && podUid !== '') uses.waitForDriver(name, podUid);
    const podCause = isMissing ? ({ kind: 'csiDriverNotRegistered', driver: name } as const) : undefined;
    throw new CausedError(`${CSI_PLUGIN}: ${what}: ${errorText(error)}`, podCause, { cause: error });
  }
}
