import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupStats } from '../../cgroup-stats.ts';
import { eventLoopTurn } from '../process/event-loop-turn.ts';
import { cgroupStatsV1 } from './cgroup-stats-v1.ts';
import { cgroupStatsV2 } from './cgroup-stats-v2.ts';

/** Cgroups per turn of the event loop: about two milliseconds. */
const CGROUPS_PER_TURN = 16;

/** The version is detected by a file that only the root of a version 2 tree has. */
export function createLinuxCgroupStats({
  root = '/sys/fs/cgroup',
  meminfo,
}: {
  readonly root?: string;
  readonly meminfo?: string;
} = {}): CgroupStats {
  const isV2 = existsSync(join(root, 'cgroup.controllers'));
  const layout = isV2 ? cgroupStatsV2(root, meminfo) : cgroupStatsV1(root);
  return {
    version: layout.version,
    usage: (paths) => inTurns(paths, layout.usage),
    details: (paths) => inTurns(paths, layout.details),
  };
}

async function inTurns<T>(
  paths: readonly string[],
  read: (path: string) => T | undefined,
): Promise<ReadonlyMap<string, T>> {
  const found = new Map<string, T>();
  for (const [index, path] of paths.entries()) {
    if (index % CGROUPS_PER_TURN === CGROUPS_PER_TURN - 1) await eventLoopTurn();
    const figures = read(path);
    if (figures !== undefined) found.set(path, figures);
  }
  return found;
}
