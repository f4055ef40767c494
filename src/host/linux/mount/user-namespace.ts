import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, writeFileSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import type { IdRange, MountIdMap } from '../../mounts.ts';

type Holder = ChildProcessByStdio<Writable, Readable, null>;

/** A descriptor of a user namespace with this map; the caller closes it. */
export async function openUserNamespace({ uids, gids, userNamespacePath }: MountIdMap): Promise<number> {
  if (userNamespacePath !== undefined) return openSync(userNamespacePath, 'r');
  // A thread cannot create one. The process is needed only until the namespace is opened.
  const holder = spawn('unshare', ['--user', 'cat'], { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = once(holder, 'close');
  try {
    await untilRunning(holder);
    writeFileSync(`/proc/${holder.pid}/uid_map`, mapText(uids));
    writeFileSync(`/proc/${holder.pid}/gid_map`, mapText(gids));
    return openSync(`/proc/${holder.pid}/ns/user`, 'r');
  } finally {
    holder.kill('SIGKILL');
    await ended.catch(() => {}); // the start error was thrown before
  }
}

/** `cat` echoes a line once it runs in the new namespace. */
async function untilRunning(holder: Holder): Promise<void> {
  await once(holder, 'spawn');
  holder.stdin.on('error', () => {}); // the end of stdout shows that it has ended
  holder.stdin.write('\n');
  const [first] = await Promise.race([once(holder.stdout, 'data'), once(holder.stdout, 'end')]);
  if (first === undefined) throw Object.assign(new Error('unshare: no user namespace'), { code: 'EINVAL' });
}

function mapText(ranges: readonly IdRange[]): string {
  return ranges.map(({ containerId, hostId, length }) => `${containerId} ${hostId} ${length}\n`).join('');
}
