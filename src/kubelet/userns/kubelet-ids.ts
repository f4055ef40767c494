import type { FileSystem } from '../../host/file-system.ts';
import { type CommandResult, type Processes, ProcessStartError } from '../../host/processes.ts';
import { defaultIdRange, type IdRange, parseSubIds } from './id-space.ts';

const USER = 'kubelet';
const PROGRAM = 'getsubids';

export interface KubeletIdsDeps {
  readonly fs: FileSystem;
  readonly processes: Processes;
}

/**
 * The subordinate ids of the user `kubelet`; all ids on a host without that user or without `getsubids`. Rejects if the
 * user exists and has no ids: a directory service may be unavailable.
 */
export async function kubeletIds(perPod: number, deps: KubeletIdsDeps, signal: AbortSignal): Promise<IdRange> {
  if (!(await hasUser(deps.fs))) return defaultIdRange(perPod);
  const uids = await runGetsubids([USER], deps, signal);
  if (uids === undefined) return defaultIdRange(perPod);
  if (uids.exitCode !== 0) {
    throw new Error(`error retrieving additional uids for user "${USER}": exit status ${uids.exitCode}`);
  }
  const gids = await runGetsubids(['-g', USER], deps, signal);
  if (gids?.exitCode !== 0) throw new Error(`error retrieving additional gids for user "${USER}"`);
  const text = stdoutText(uids);
  if (text !== stdoutText(gids)) throw new Error(`mismatched subuids and subgids for user "${USER}"`);
  return parseSubIds(text);
}

async function hasUser(fs: FileSystem): Promise<boolean> {
  if (!(await fs.stat('/etc/passwd'))) return false;
  return (await fs.readText('/etc/passwd')).split('\n').some((line) => line.startsWith(`${USER}:`));
}

async function runGetsubids(
  args: readonly string[],
  { processes }: KubeletIdsDeps,
  signal: AbortSignal,
): Promise<CommandResult | undefined> {
  try {
    return await processes.run({ program: PROGRAM, args }, signal);
  } catch (error) {
    if (error instanceof ProcessStartError && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function stdoutText({ stdout }: CommandResult): string {
  return new TextDecoder().decode(stdout);
}
