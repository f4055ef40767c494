import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupStats, OpenFiles } from '../../cgroup-stats.ts';
import { parseNetDev } from '../../net-dev.ts';
import type { InterfaceCounters } from '../../network-namespaces.ts';
import { readKernelFile } from '../proc/kernel-file.ts';
import { fileLimitOf, openFilesOf } from '../proc/open-files.ts';
import { eventLoopTurn } from '../process/event-loop-turn.ts';
import { cgroupTree } from './cgroup-stats-tree.ts';
import { cgroupStatsV1 } from './cgroup-stats-v1.ts';
import { cgroupStatsV2 } from './cgroup-stats-v2.ts';

/** Cgroups per turn of the event loop: about two milliseconds. */
const CGROUPS_PER_TURN = 16;
/** The same for open files; a process costs as much as some descriptors. */
const DESCRIPTORS_PER_TURN = 256;
const PROCESS_COST = 8;

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
    openFiles: (pids) => openFilesInTurns(pids, proc),
    fileLimits: (pids) => inTurns(pids, (pid) => fileLimitOf(`${proc}/${pid}`)),
    interfaces: (pids) => inTurns(pids, (pid) => interfacesOf(`${proc}/${pid}`)),
  };
}

/** Each descriptor takes a system call, and a process may have thousands. */
async function openFilesInTurns(pids: readonly number[], proc: string): Promise<ReadonlyMap<number, OpenFiles>> {
  const found = new Map<number, OpenFiles>();
  let sinceTurn = 0;
  for (const pid of pids) {
    const files = openFilesOf(`${proc}/${pid}`);
    if (files) found.set(pid, files);
    sinceTurn += PROCESS_COST + (files?.descriptors ?? 0);
    if (sinceTurn < DESCRIPTORS_PER_TURN) continue;
    await eventLoopTurn();
    sinceTurn = 0;
  }
  return found;
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
