import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import { addressConflict } from '../pod-network/address-conflict.ts';
import { missingForLocalRuntime, missingText } from './missing-programs.ts';
import { StartupError } from './startup-error.ts';

export interface PreconditionParts {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly bridge: string;
  readonly podCidr: string;
}

/** Rejects with a `StartupError` that lists all unmet preconditions, before anything is created. */
export async function checkLocalPreconditions(parts: PreconditionParts): Promise<void> {
  const { fs, bridge, podCidr } = parts;
  const missing = missingText(await missingForLocalRuntime(fs));
  if (missing !== undefined) throw new StartupError(missing);
  const tables = {
    route: await fs.readText('/proc/net/route'),
    fibTrie: await fs.readText('/proc/net/fib_trie'),
  };
  const errors = [addressConflict(podCidr, bridge, tables), await forwardingError(parts)].filter(
    (error) => error !== undefined,
  );
  if (errors.length > 0) throw new StartupError(errors.join('; '));
}

/** The bridge plugin enables forwarding with the first pod if the sysctl is writable. */
async function forwardingError({ fs, mounts }: PreconditionParts): Promise<string | undefined> {
  const forwarding = await fs.readText('/proc/sys/net/ipv4/ip_forward');
  if (forwarding.trim() !== '0') return undefined;
  const settings = (await mounts.list()).findLast(({ target }) => target === '/proc' || target === '/proc/sys');
  if (!settings?.readOnly) return undefined;
  return 'IPv4 forwarding is off and /proc/sys is read-only, so pods would have no network';
}
