import { goErrorText } from '../../plugins/plugin-error.ts';
import { CausedError, type ErrorCause, podCauseOf } from '../pod/pod-cause.ts';

/** The step of a volume that failed, as kubelet's events name it. */
export type VolumeStep =
  | 'AttachVolume.Attach'
  | 'MountVolume.NewMounter initialization'
  | 'MountVolume.WaitForAttach'
  | 'MountVolume.MountDevice'
  | 'MountVolume.SetUp'
  | 'MountVolume.Setup failed while expanding volume'
  | 'MapVolume.EvalHostSymlinks'
  | 'MapVolume.WaitForAttach'
  | 'MapVolume.SetUpDevice'
  | 'MapVolume.EvalHostSymlinks'
  | 'MapVolume.MapPodDevice'
  | 'MapVolume.MapBlockVolume'
  | 'MapVolume.MarkVolumeAsMounted failed while expanding volume';

/** A step of a volume failed. Other errors of a plugin are those of its last step, `SetUp` or `MapPodDevice`. */
export class VolumeError extends CausedError {
  override readonly name = 'VolumeError';
  readonly step: VolumeStep;

  constructor(step: VolumeStep, message: string, podCause?: ErrorCause, options?: ErrorOptions) {
    super(message, podCause, options);
    this.step = step;
  }
}

/** Errors of the work are those of this step. An abort stays an abort. */
export async function inStep<T>(step: VolumeStep, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof VolumeError) throw cause;
    throw new VolumeError(step, goErrorText(cause), podCauseOf(cause), { cause });
  }
}
