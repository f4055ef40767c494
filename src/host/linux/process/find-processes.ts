import { readdirSync, readFileSync } from 'node:fs';
import type { ProcessIdentity, ProcessStart } from '../../processes.ts';
import { parseProcStat } from '../proc/proc-stat.ts';

/** Synchronous: a few hundred small files of /proc, each of which a thread of the pool would take longer to hand over. */
export async function findProcesses(isMeant: (start: ProcessStart) => boolean): Promise<readonly ProcessIdentity[]> {
  return readdirSync('/proc').flatMap((name) => {
    const pid = Number(name);
    if (!Number.isInteger(pid)) return [];
    const stat = parseProcStat(readProcFile(pid, 'stat'));
    if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return [];
    const start = { args: splitNulSeparated(readProcFile(pid, 'cmdline')), env: splitNulSeparated(readProcFile(pid, 'environ')) };
    return isMeant(start) ? [{ pid, startTime: stat.startTime }] : [];
  });
}

/** Empty for one that has ended meanwhile, and for one that is not ours to look into. */
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
