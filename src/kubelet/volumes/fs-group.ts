import type { Pod } from '../../api/generated/core-v1.ts';
import type { Clock } from '../../host/clock.ts';
import type { FileStat, FileSystem } from '../../host/file-system.ts';
import type { PodEvents } from '../events/pod-events.ts';

const READ_WRITE = 0o660;
const READ = 0o440;
const ENTER = 0o110;
const KEEP_GROUP = 0o2000;

const FIRST_REPORT_MS = 30_000;
const NEXT_REPORT_MS = 60_000;
const ADVICE =
  'consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

type Access = 'read' | 'write';

/**
 * Gives the tree below `path` to a group: it may read, and write unless `access` is `read`. Files that are created
 * later belong to the group too. Directories are changed after their content, so a tree whose root is done is done
 * completely.
 */
export async function setVolumeOwnership(
  fs: FileSystem,
  path: string,
  group: number,
  access: Access = 'write',
): Promise<void> {
  await fs.setTreeGroup(path, groupAccess(group, access));
}

export interface FsGroupDeps {
  readonly fs: FileSystem;
  readonly clock: Clock;
  readonly events: PodEvents;
}

export interface FsGroupRequest {
  /** Its `securityContext` names the group and when files are changed. Without a group nothing is changed. */
  readonly pod: Pod;
  readonly access: Access;
  /** The path that events name; absent: that of the files. */
  readonly shownPath?: string;
}

/**
 * Gives the files of a persistent volume to the pod's `fsGroup`. Files that cannot be changed are skipped, as in kubelet:
 * the volume may have some that the pod does not use. A slow change is reported as events of the pod.
 */
export async function applyFsGroup(
  { fs, clock, events }: FsGroupDeps,
  path: string,
  { pod, access, shownPath = path }: FsGroupRequest,
  signal: AbortSignal,
): Promise<void> {
  const { fsGroup, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
  if (fsGroup === undefined) return;
  if (fsGroupChangePolicy === 'OnRootMismatch' && belongsToGroup(await fs.stat(path), fsGroup, access)) return;
  const done = new AbortController();
  let files = 0;
  const onProgress = (count: number): void => {
    files = count;
  };
  void reportProgress(shownPath, { pod, clock, events, files: () => files }, AbortSignal.any([signal, done.signal]));
  try {
    await fs.setTreeGroup(path, { ...groupAccess(fsGroup, access), skipsErrors: true, onProgress }, signal);
  } finally {
    done.abort();
  }
}

/** Whether the root of a volume has the group and all permissions that `applyFsGroup` gives. */
export function belongsToGroup(root: FileStat | undefined, group: number, access: Access): boolean {
  const { folderMode } = groupAccess(group, access);
  return root?.kind === 'directory' && root.gid === group && (root.mode & folderMode) === folderMode;
}

function groupAccess(gid: number, access: Access) {
  const fileMode = access === 'read' ? READ : READ_WRITE;
  return { gid, fileMode, folderMode: fileMode | ENTER | KEEP_GROUP };
}

interface Progress {
  readonly pod: Pod;
  readonly clock: Clock;
  readonly events: PodEvents;
  files(): number;
}

/** kubelet's events. Ends with the signal; never rejects. */
async function reportProgress(
  path: string,
  { pod, clock, events, files }: Progress,
  signal: AbortSignal,
): Promise<void> {
  const record = (text: string): void =>
    events.record(pod, 'Warning', 'VolumePermissionChangeInProgress', `Setting volume ownership for ${shown}${text}`);
  const shown = path.slice(Math.max(0, path.indexOf(pod.metadata.uid)));
  try {
    await clock.sleep(FIRST_REPORT_MS, signal);
    record(` is taking longer than expected, ${ADVICE}`);
    for (;;) {
      await clock.sleep(NEXT_REPORT_MS, signal);
      record(`, processed ${files()} files.`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
