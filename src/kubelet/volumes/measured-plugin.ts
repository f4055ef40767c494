import type { Clock } from '../../host/clock.ts';
import { type VolumeMessage, volumeChannel } from './volume-channel.ts';
import type { VolumeSpec } from './volume-spec.ts';

type Operation = Extract<VolumeMessage, { kind: 'called' }>['operation'];

/** kubelet's full name of a plugin: that of the CSI plugin has the driver. */
export function qualifiedName(plugin: string, { volume, bound }: Pick<VolumeSpec, 'volume' | 'bound'>): string {
  const csi = volume.csi ?? bound?.volume.spec.csi;
  return csi ? `${plugin}:${csi.driver}` : plugin;
}

/** Calls a plugin, and publishes the call with its duration. Without `spec`, only the directory of the volume is known. */
export function measuredPlugin(
  { name }: { readonly name: string },
  spec: VolumeSpec | undefined,
  clock: Pick<Clock, 'monotonic'>,
): <T>(operation: Operation, call: () => Promise<T>) => Promise<T> {
  const plugin = spec ? qualifiedName(name, spec) : name;
  const isMigrated = spec?.isMigrated ?? false;
  return async (operation, call) => {
    const beganMs = clock.monotonic();
    let isError = true;
    try {
      const result = await call();
      isError = false;
      return result;
    } finally {
      const tookMs = clock.monotonic() - beganMs;
      volumeChannel.publish({ kind: 'called', operation, plugin, isError, isMigrated, tookMs });
    }
  };
}

/** Publishes that a volume is set up, with all that it had to wait for since `beganMs`. */
export function publishSetUp(
  operation: Extract<VolumeMessage, { kind: 'setUp' }>['operation'],
  of: { readonly plugin: { readonly name: string }; readonly spec: VolumeSpec; readonly beganMs: number },
  clock: Pick<Clock, 'monotonic'>,
): void {
  const tookMs = clock.monotonic() - of.beganMs;
  volumeChannel.publish({ kind: 'setUp', operation, plugin: qualifiedName(of.plugin.name, of.spec), tookMs });
}
