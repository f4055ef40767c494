import type { NFSVolumeSource } from '../../api/generated/core-v1.ts';
import { podDirectory } from '../pod/pod-paths.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { joinMountOptions, mountOptionsOf } from './mount-helper/mount-options.ts';
import { mountByProgram, unmountForcibly } from './mount-helper/mount-program.ts';
import { checkServerResponse } from './mount-helper/server-response.ts';
import { mountPointsBelow } from './mount-points.ts';
import { volumePath } from './volume-paths.ts';
import { volumePlugin } from './volume-plugin.ts';
import type { VolumeSpec } from './volume-spec.ts';

const PLUGIN = 'kubernetes.io/nfs';

interface NfsVolume {
  readonly server: string;
  readonly path: string;
  readonly readOnly: boolean;
}

/**
 * A directory of an NFS server. Each pod has its own mount. No system call of the agent touches the files: it would never
 * return if the server is dead.
 */
export const nfsPlugin = volumePlugin<NfsVolume>({
  name: PLUGIN,
  supportsRelabel: false,
  source: nfsVolume,
  async setUp({ server, path, readOnly }, { pod, volume, mountPoints }, deps, signal) {
    const { settings } = deps;
    const target = volumePath(settings.rootDir, pod.metadata.uid, PLUGIN, volume.name);
    const source = `${serverInSource(server)}:${path}`;
    const options = joinMountOptions(mountOptionsOf(volume.bound?.volume), readOnly ? ['ro'] : []);
    if (!mountPoints.includes(target)) {
      await makeNodeDirectory(target, deps);
      try {
        await mountByProgram({ source, target, type: 'nfs', options }, deps, signal);
      } catch (error) {
        // mount(8) may fail after the mount itself.
        const isMounted = (await mountPointsBelow(podDirectory(settings.rootDir, pod.metadata.uid), deps)).includes(
          target,
        );
        if (isMounted) await unmountForcibly(target, deps, signal).catch(() => undefined); // the first error is the cause
        throw error;
      }
    }
    const checkResponse = (until: AbortSignal): Promise<void> => checkServerResponse({ source, target }, deps, until);
    return { path: target, readOnly, checkResponse };
  },
  async tearDown({ path }, deps, signal) {
    await unmountForcibly(path, deps, signal);
  },
});

function nfsVolume({ volume, bound, readOnly }: VolumeSpec): NfsVolume | undefined {
  const own = volume.nfs;
  if (own) return { ...pathOf(own), readOnly: own.readOnly ?? false };
  const persistent = bound?.volume.spec.nfs;
  return persistent && { ...pathOf(persistent), readOnly };
}

/** An IPv6 address is written in brackets. */
function serverInSource(server: string): string {
  return server.includes(':') && !server.startsWith('[') ? `[${server}]` : server;
}

function pathOf({ server, path }: NFSVolumeSource): Omit<NfsVolume, 'readOnly'> {
  return { server, path };
}
