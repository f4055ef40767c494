import { readdirSync, readlinkSync } from 'node:fs';
import type { FileLimit, OpenFiles } from '../../cgroup-stats.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { readKernelFile } from './kernel-file.ts';

/** The open files of a process, from its folder in /proc; `undefined` if it has ended or is protected. */
export function openFilesOf(process: string): OpenFiles | undefined {
  const folder = `${process}/fd`;
  const names = unlessHidden(() => readdirSync(folder));
  if (!names) return undefined;
  const isSocket = (name: string): boolean =>
    unlessHidden(() => readlinkSync(`${folder}/${name}`))?.startsWith('socket:') ?? false;
  return { descriptors: names.length, sockets: names.filter(isSocket).length };
}

/** How many files a process can open: `Max open files            1024                 524288               files`. */
export function fileLimitOf(process: string): FileLimit | undefined {
  const limits = unlessHidden(() => readKernelFile(`${process}/limits`));
  const soft = /^Max open files +(\d+|unlimited)/m.exec(limits ?? '')?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? soft : Number(soft);
}

function unlessHidden<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    // ESRCH: the process ended while the folder was read. EACCES: the process is protected, as init is in some sandboxes.
    if (['ENOENT', 'ESRCH', 'EACCES', 'EPERM'].includes(errnoCode(error) ?? '')) return undefined;
    throw error;
  }
}
