import { CausedError, type ErrorCause } from '../pod/pod-cause.ts';

/** The step of a volume that failed, as kubelet's events name it. */
export type VolumeStep =
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
