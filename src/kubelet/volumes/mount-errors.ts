import { errorText } from '../../base/error-text.ts';
import { PluginError, pluginErrorText } from '../../plugins/plugin-error.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { PodError } from '../pod/pod-error.ts';
import { VolumeError } from './volume-error.ts';
import { VolumeResolutionError, type VolumeSpec } from './volume-spec.ts';

/** kubelet's error for a step of a volume that failed. It names the volume as the node does. */
export function mountError(spec: VolumeSpec, cause: unknown): PodError {
  if (cause instanceof PodError) return cause;
  const isBlock = spec.mode === 'Block';
  const lastStep = isBlock ? 'MapVolume.MapPodDevice' : 'MountVolume.SetUp';
  const step = cause instanceof VolumeError ? cause.step : lastStep;
  const podCause = { kind: 'volumeFailed', volume: spec.volume.name, cause: podCauseOf(cause) } as const;
  const text = cause instanceof PluginError ? pluginErrorText(cause) : errorText(cause);
  const reason = isBlock ? 'FailedMapVolume' : 'FailedMount';
  return new PodError(reason, `${step} failed for volume "${spec.name}" : ${text}`, { cause, podCause });
}

/** kubelet's error for volumes that could not be determined, or were not mounted in time. */
export function notMounted(name: string, unmounted: readonly string[], cause: unknown): PodError {
  const isUnknown = cause instanceof VolumeResolutionError;
  const text = typeof cause === 'string' ? cause : errorText(cause);
  const lists = `unmounted volumes=[${unmounted.join(' ')}], unattached volumes=[], failed to process volumes=[${isUnknown ? name : ''}]`;
  const podCause = { kind: 'volumeFailed', volume: name, cause: podCauseOf(cause) } as const;
  return new PodError('FailedMount', `Unable to attach or mount volumes: ${lists}: ${text}`, { cause, podCause });
}

/** Types that were removed from Kubernetes, and what replaces them. */
const REMOVED_TYPES: Readonly<Record<string, string>> = {};

export function unsupportedVolume({ volume, bound, mode }: VolumeSpec): PodError {
  const { name, ...ownSource } = volume;
  const source = bound ? bound.volume.spec : ownSource;
  const type = Object.entries(source).find(([, value]) => typeof value === 'object')?.[0] ?? 'none';
  const removed = Object.hasOwn(REMOVED_TYPES, type) ? REMOVED_TYPES[type] : undefined;
  const why = removed ?? (mode === 'Block' ? 'which has no block volumes' : 'which is not supported yet');
  const message = `volume "${name}" is of type ${type}, ${why}`;
  return new PodError('FailedMount', message, { podCause: { kind: 'volumeFailed', volume: name, cause: undefined } });
}
