import type { Pod } from '../../api/generated/core-v1.ts';
import { goErrorText } from '../../plugins/plugin-error.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import type { PodStep } from '../pod/pod-step.ts';
import type { DeviceManager } from './device-manager.ts';

/**
 * Assigns the devices that were reserved for a pod. It follows the step that reserves them, whose lock it does not need: a
 * plugin that hangs delays only the pods that request its devices. A pod whose plugin fails is rejected, as in kubelet's
 * admission.
 */
export function deviceStep(manager: DeviceManager): PodStep {
  return {
    async prepare(pod: Pod, signal: AbortSignal): Promise<void> {
      try {
        await manager.settle(pod, signal);
      } catch (error) {
        signal.throwIfAborted();
        const message = `Allocate failed due to ${goErrorText(error)}, which is unexpected`;
        throw new PodRejectedError('UnexpectedAdmissionError', message);
      }
    },
    release: ({ metadata }) => manager.release(metadata.uid),
  };
}
