import { CausedError, type ErrorCause } from '../pod/pod-cause.ts';

/** The step of a volume that failed, as kubelet's events name it. */
export type VolumeStep =
  | 'MountVolume.WaitForAttach'
  | 'MountVolume.MountDevice'
  | 'MountVolume.SetUp'
  | 'MountVolume.NodeExpandVolume'
  | 'MapVolume.WaitForAttach'
  | 'MapVolume.SetUpDevice'
  | 'MapVolume.MapPodDevice'
  | 'MapVolume.MapBlockVolume';

/** A step of a volume failed. Other errors of a plugin are those of its last step, `SetUp` or `MapPodDevice`. */
export class VolumeError extends CausedError {
  override readonly name = 'VolumeError';
  readonly step: VolumeStep;

  constructor(step: VolumeStep, message: string, podCause?: ErrorCause, options?: ErrorOptions) {
    super(message, podCause, options);
    this.step = step;
  }
}
