import { lstatSync, readdirSync } from 'node:fs';
import { eventLoopTurn } from '../process/event-loop-turn.ts';
import { errnoCode } from '../sys/errno-code.ts';
import type { CgroupStatsLayout } from './cgroup-stats-layout.ts';

/** Cgroups per turn of the event loop: less than two milliseconds. */
const CGROUPS_PER_TURN = 64;
/** The links of a folder without folders: its name and `.`. */
const LINKS_OF_A_LEAF = 2;

type Layout = Pick<CgroupStatsLayout, 'folder' | 'birthFile'>;

/** These cgroups and all below them, parents first, with the time of their creation. Cgroups that are gone are left out. */
export async function cgroupTree(
  paths: readonly string[],
  known: ReadonlyMap<string, number> | undefined,
  layout: Layout,
): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  const waiting = [...paths].reverse();
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    if (found.size % CGROUPS_PER_TURN === CGROUPS_PER_TURN - 1) await eventLoopTurn();
    const folder = layout.folder(path);
    const stat = unlessGone(() => lstatSync(folder));
    if (!stat?.isDirectory()) continue;
    found.set(path, known?.get(path) ?? createdMs(folder, stat.mtimeMs, layout));
    if (stat.nlink !== LINKS_OF_A_LEAF) waiting.push(...childrenOf(path, folder).toReversed());
  }
  return found;
}

/** The kernel keeps no creation time: the folder changes with each cgroup below it, the file hardly ever. */
function createdMs(folder: string, changedMs: number, { birthFile }: Layout): number {
  const file = unlessGone(() => lstatSync(`${folder}/${birthFile}`));
  return Math.min(changedMs, file?.mtimeMs ?? changedMs);
}

function childrenOf(path: string, folder: string): readonly string[] {
  const entries = unlessGone(() => readdirSync(folder, { withFileTypes: true })) ?? [];
  const names = entries.flatMap((entry) => (entry.isDirectory() ? [entry.name] : [])).sort();
  return names.map((name) => (path === '/' ? `/${name}` : `${path}/${name}`));
}

function unlessGone<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR', 'ENODEV'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}
