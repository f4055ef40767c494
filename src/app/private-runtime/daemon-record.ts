import { createHash } from 'node:crypto';
import type { ProcessIdentity } from '../../host/processes.ts';

/** What the next start must know about the daemon that this one started. */
export interface DaemonRecord extends ProcessIdentity {
  /** Of the configuration it runs with: a daemon with another one must be started again. */
  readonly configDigest: string;
  /** The CNI plugins' shared chains for host ports were made for us, and may go with us. */
  readonly ownsHostPortChains: boolean;
}

export function configDigest(config: string): string {
  return `sha256:${createHash('sha256').update(config).digest('hex')}`;
}

export function daemonRecordText(record: DaemonRecord): string {
  const { pid, startTime, configDigest, ownsHostPortChains } = record;
  return `${JSON.stringify({ pid, startTime, configDigest, ownsHostPortChains })}\n`;
}

/** `undefined` for text that is no record: then the daemon is looked for by its command line. */
export function parseDaemonRecord(text: string): DaemonRecord | undefined {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return undefined;
  if (!('pid' in value && 'startTime' in value && 'configDigest' in value && 'ownsHostPortChains' in value)) {
    return undefined;
  }
  const { pid, startTime, configDigest, ownsHostPortChains } = value;
  if (typeof pid !== 'number' || typeof startTime !== 'number') return undefined;
  if (typeof configDigest !== 'string' || typeof ownsHostPortChains !== 'boolean') return undefined;
  return { pid, startTime, configDigest, ownsHostPortChains };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
