import { fstatSync } from 'node:fs';
import type { Environment } from './run-command.ts';

/**
 * Whether a descriptor leads to systemd's journal. The variable names the stream of the process that systemd started; programs
 * that it starts inherit the variable, but their output may go elsewhere. See systemd.exec(5).
 */
export function isJournalStream(fd: number, { JOURNAL_STREAM: stream }: Environment): boolean {
  if (!stream) return false;
  const { dev, ino } = fstatSync(fd);
  return stream === `${dev}:${ino}`;
}
