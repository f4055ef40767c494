import { readdirSync, readlinkSync } from 'node:fs';
import type { OpenFiles } from '../../cgroup-stats.ts';
import { errnoCode } from '../sys/errno-code.ts';
import { readKernelFile } from './kernel-file.ts';

/** The open files of a process, from its folder in /proc; `undefined` if it has ended or is protected. */
export function openFilesOf(process: string): OpenFiles | undefined {
  const folder = `${process}/fd`;
  const names = unlessHidden(() => readdirSync(folder));
  if (!names) return undefined;
  const links = names.map((name) => unlessHidden(() => readlinkSync(`${folder}/${name}`)) ?? '');
  const limit = softLimit(readKernelFile(`${process}/limits`) ?? '');
  return {
    descriptors: names.length,
    sockets: links.filter((link) => link.startsWith('socket:')).length,
    ...(limit !== undefined && { limit }),
  };
}

/** `Max open files            1024                 524288               files`. */
function softLimit(limits: string): number | undefined {
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
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
