import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity, ProcessStart } from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';

/** Synchronous: for small files of /proc the thread pool takes longer than the read. */
export async function findProcesses(matches: (start: ProcessStart) => boolean): Promise<readonly ProcessIdentity[]> {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    const stat = parseProcStat(readProcFile(pid, 'stat'));
    if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return [];
    const start = {
      args: splitNulSeparated(readProcFile(pid, 'cmdline')),
      env: splitNulSeparated(readProcFile(pid, 'environ')),
    };
    return matches(start) ? [{ pid, startTime: stat.startTime }] : [];
  });
}

/** Empty for a process that has ended meanwhile, and without permission. */
function readProcFile(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

function splitNulSeparated(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\0$/, '').split('\0');
}
