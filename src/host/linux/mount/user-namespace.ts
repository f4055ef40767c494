import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { IdRange, MountIdMap } from '../../mounts.ts';

type Holder = ChildProcessByStdio<Writable, Readable, null>;

/** A descriptor of a user namespace with this map, for the caller to close. */
export async function openUserNamespace({ uids, gids, userNamespacePath }: MountIdMap): Promise<number> {
  if (userNamespacePath !== undefined) return openSync(userNamespacePath, 'r');
  // A thread cannot make one, and it needs a process only until somebody holds it open.
  const holder = spawn('unshare', ['--user', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(holder, 'close');
  try {
    await untilItRuns(holder);
    writeFileSync(`/proc/${holder.pid}/uid_map`, mapText(uids));
    writeFileSync(`/proc/${holder.pid}/gid_map`, mapText(gids));
    return openSync(`/proc/${holder.pid}/ns/user`, 'r');
  } finally {
    holder.kill('SIGKILL');
    await ended.catch(() => {}); // it did not start; that was told before
  }
}

/** `cat` answers once it runs, and it runs in the new namespace. */
async function untilItRuns(holder: Holder): Promise<void> {
  await once(holder, 'spawn');
  holder.stdin.on('error', () => {}); // its end is seen at the other side
  holder.stdin.write('\n');
  const [first] = await Promise.race([once(holder.stdout, 'data'), once(holder.stdout, 'end')]);
  if (first === undefined) throw Object.assign(new Error('unshare: no user namespace'), { code: 'EINVAL' });
}

function mapText(ranges: readonly IdRange[]): string {
  return ranges.map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}\n`).join('');
}
