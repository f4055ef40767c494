import type { Host } from '../../host/host.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { NO_CLAIMS } from '../objects/pod-claims.ts';
import type { PodObjects } from '../objects/pod-objects.ts';
import { noPodCertificates } from '../pod-certificates/pod-certificates.ts';
import { NO_TOKENS } from '../tokens/pod-tokens.ts';
import { noTrustBundles } from '../trust-bundles/trust-bundles.ts';
import { NO_ATTACH_LIMITS } from './attach-limits.ts';
import { ALWAYS_ATTACHED } from './attached-volumes.ts';
import { NodeVolumes } from './node-volumes.ts';
import type { PodVolumesDeps } from './pod-volumes.ts';
import { nodeVolumesOnDisk } from './release-volumes.ts';
import { VOLUME_PLUGINS } from './volume-plugins.ts';

/** What `PodVolumes` needs, on a standalone node with its root at `rootDir`. */
export function volumeDeps(
  { fs, mounts, clock, random, processes }: Pick<Host, 'fs' | 'mounts' | 'clock' | 'random' | 'processes'>,
  own: { readonly rootDir: string; readonly objects: PodObjects; readonly events: PodEvents },
): PodVolumesDeps {
  const { rootDir, objects, events } = own;
  return {
    plugins: VOLUME_PLUGINS,
    fs,
    mounts,
    clock,
    random,
    processes,
    objects,
    events,
    tokens: NO_TOKENS,
    trustBundles: noTrustBundles('standalone'),
    podCertificates: noPodCertificates('standalone'),
    claims: NO_CLAIMS,
    nodeVolumes: new NodeVolumes(() => nodeVolumesOnDisk(rootDir, { fs, plugins: VOLUME_PLUGINS })),
    attachedVolumes: ALWAYS_ATTACHED,
    attachLimits: NO_ATTACH_LIMITS,
    allocatable: { cpu: '4', memory: '1Gi' },
    settings: { rootDir, memoryCapacityBytes: 1024 ** 3 },
    nodeLabels: () => ({ 'kubernetes.io/hostname': 'node-1' }),
    tmpfsNoswap: false,
  };
}
