import type { Host } from '../../host/host.ts';
import type { PodEvents } from '../events/pod-events.ts';
import { NO_CLAIMS } from '../objects/pod-claims.ts';
import type { PodObjects } from '../objects/pod-objects.ts';
import { NO_TOKENS } from '../tokens/pod-tokens.ts';
import { ALWAYS_ATTACHED } from './attached-volumes.ts';
import { NodeVolumes } from './node-volumes.ts';
import type { PodVolumesDeps } from './pod-volumes.ts';
import { nodeVolumesOnDisk } from './release-volumes.ts';

/** What `PodVolumes` needs, on a standalone node with its root at `rootDir`. */
export function volumeDeps(
  { fs, mounts, clock, random }: Pick<Host, 'fs' | 'mounts' | 'clock' | 'random'>,
  own: { readonly rootDir: string; readonly objects: PodObjects; readonly events: PodEvents },
): PodVolumesDeps {
  const { rootDir, objects, events } = own;
  return {
    fs,
    mounts,
    clock,
    random,
    objects,
    events,
    tokens: NO_TOKENS,
    claims: NO_CLAIMS,
    nodeVolumes: new NodeVolumes(() => nodeVolumesOnDisk(rootDir, { fs })),
    attachedVolumes: ALWAYS_ATTACHED,
    allocatable: { cpu: '4', memory: '1Gi' },
    settings: { rootDir, memoryCapacityBytes: 1024 ** 3 },
    tmpfsNoswap: false,
  };
}
