import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupStats } from '../../cgroup-stats.ts';
import { parseNetDev } from '../../net-dev.ts';
import type { InterfaceCounters } from '../../network-namespaces.ts';
import { readKernelFile } from '../proc/kernel-file.ts';
import { openFilesOf } from '../proc/open-files.ts';
import { eventLoopTurn } from '../process/event-loop-turn.ts';
import { cgroupTree } from './cgroup-stats-tree.ts';
import { cgroupStatsV1 } from './cgroup-stats-v1.ts';
import { cgroupStatsV2 } from './cgroup-stats-v2.ts';

/** Cgroups per turn of the event loop: about two milliseconds. */
const CGROUPS_PER_TURN = 16;

/** The version is detected by a file that only the root of a version 2 tree has. */
export function createLinuxCgroupStats({
  root = '/sys/fs/cgroup',
  meminfo,
  proc = '/proc',
}: {
  readonly root?: string;
  readonly meminfo?: string;
  readonly proc?: string;
} = {}): CgroupStats {
  const isV2 = existsSync(join(root, 'cgroup.controllers'));
  const layout = isV2 ? cgroupStatsV2(root, meminfo) : cgroupStatsV1(root);
  return {
    version: layout.version,
    usage: (paths) => inTurns(paths, layout.usage),
    details: (paths) => inTurns(paths, layout.details),
    tree: (paths, known) => cgroupTree(paths, known, layout),
    openFiles: (pids) => inTurns(pids, (pid) => openFilesOf(`${proc}/${pid}`)),
    interfaces: (pids) => inTurns(pids, (pid) => interfacesOf(`${proc}/${pid}`)),
  };
}

async function inTurns<K, T>(keys: readonly K[], read: (key: K) => T | undefined): Promise<ReadonlyMap<K, T>> {
  const found = new Map<K, T>();
  for (const [index, key] of keys.entries()) {
    if (index % CGROUPS_PER_TURN === CGROUPS_PER_TURN - 1) await eventLoopTurn();
    const figures = read(key);
    if (figures !== undefined) found.set(key, figures);
  }
  return found;
}

function interfacesOf(process: string): readonly InterfaceCounters[] | undefined {
  const text = readKernelFile(`${process}/net/dev`);
  return text === undefined ? undefined : parseNetDev(text);
}
