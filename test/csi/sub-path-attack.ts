import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** A file of the host that no container may read. */
export const HOST_FILE = 'secret';

/** What became of the attempts to bind a subPath. */
export interface SubPathAttempts {
  /** A folder or file of the volume was bound. */
  bound: number;
  /** The container was not started. */
  rejected: number;
  /** A folder or file of the host was bound. */
  escaped: number;
}

export interface SubPathAttack {
  /** The name in the volume that is a folder at one moment and a link to the host's folder at the next. */
  readonly swapped: string;
  /** The subPath; `%` is the number of the attempt. */
  readonly path: string;
  readonly tries: number;
  /** Binds without the checks of the agent. */
  readonly followLinks?: boolean;
}

export interface SubPathResult extends SubPathAttempts {
  /** The names in the host's folder afterwards, sorted. */
  readonly hostNames: readonly string[];
}

const run = promisify(execFile);
const beside = (file: string): string => join(import.meta.dirname, file);

/** Lets a process swap a name of a volume with a link while subPaths of the volume are bound. */
export async function attackSubPath({ swapped, path, tries, followLinks }: SubPathAttack): Promise<SubPathResult> {
  const folder = mkdtempSync(join(tmpdir(), 'nodelet-sub-path-'));
  using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
  for (const each of ['host', `volume/${swapped}`]) {
    mkdirSync(join(folder, each, 'sub'), { recursive: true });
    writeFileSync(join(folder, each, 'file'), each);
  }
  writeFileSync(join(folder, 'host', HOST_FILE), '');
  writeFileSync(join(folder, 'host/sub', HOST_FILE), '');
  symlinkSync(join(folder, 'host'), join(folder, 'volume/link'));
  await using attacker = await startAttacker(join(folder, 'volume', swapped), join(folder, 'volume/link'));
  const command = [process.execPath, beside('attacked-sub-paths.ts'), folder, path, `${tries}`];
  const { stdout } = await run('unshare', ['--mount', ...command, ...(followLinks ? ['--follow-links'] : [])]);
  await attacker[Symbol.asyncDispose]();
  const hostNames = readdirSync(join(folder, 'host'), { recursive: true, encoding: 'utf8' }).sort();
  return { ...(JSON.parse(stdout) as SubPathAttempts), hostNames };
}

async function startAttacker(name: string, other: string): Promise<AsyncDisposable> {
  const command = [process.execPath, beside('swap-with-link.ts'), name, other];
  const child = spawn('setpriv', ['--pdeathsig', 'KILL', ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  await Promise.race([
    once(child.stdout, 'data'),
    ended.then(([code]) => Promise.reject(new Error(`exit code ${code}`))),
  ]);
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}
