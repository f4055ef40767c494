import { CommandError } from '../options/command-error.ts';
import type { CommandContext } from './command-context.ts';

/** Containers are made by the Linux kernel, and only for root. */
export function requireRootOnLinux({ platform, isRoot }: Pick<CommandContext, 'platform' | 'isRoot'>): void {
  if (platform !== 'linux') throw new CommandError(`containers need Linux, and this is ${platform}`);
  if (!isRoot) throw new CommandError('only root can run containers; try again with sudo');
}
