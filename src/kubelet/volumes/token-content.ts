import { Buffer } from 'node:buffer';
import { allContainers } from '../../api/all-containers.ts';
import type { Pod } from '../../api/generated/core-v1.ts';
import type { VolumeContent } from './volume-content.ts';

/** Read by its owner alone; the group that volumes are given to may read it too. */
const PRIVATE = 0o600;

/** A token is the pod's alone where it is known who that is. */
export function tokenContent(path: string, token: string, defaultMode: number, pod: Pod): VolumeContent {
  const owner = soleUser(pod);
  const isPrivate = owner !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  const data = Buffer.from(token);
  return new Map([[path, { data, mode: isPrivate ? PRIVATE : defaultMode, owner }]]);
}

/** The user whom every container of the pod is said to run as; nothing when one is not, or they differ. */
function soleUser({ spec }: Pod): number | undefined {
  const users = allContainers(spec).map(
    ({ securityContext }) => securityContext?.runAsUser ?? spec.securityContext?.runAsUser,
  );
  return new Set(users).size === 1 ? users[0] : undefined;
}
