import { posix } from 'node:path';
import { formatNanoTime, formatTime } from '../../base/rfc3339.ts';
import { errorText } from '../../base/error-text.ts';
import { invalidField } from '../../cri/field-error.ts';
import { CriError } from '../../cri/cri-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { Finished } from '../../host/processes.ts';
import { type ContainerDeps, runtimeForContainer } from '../container/container-deps.ts';
import { containerNotFound, asCriError } from '../container/container-errors.ts';
import { readBundleConfig } from '../container/container-files.ts';
import type { ContainerStore } from '../container/container-store.ts';
import { criStateName } from '../container/container-messages.ts';
import type { ContainerRecord } from '../store/container-record.ts';

export type CheckpointDeps = Pick<
  ContainerDeps,
  'clock' | 'fs' | 'log' | 'paths' | 'runtimes' | 'ociCommand' | 'processes'
> & { readonly store: Pick<ContainerStore, 'find'> };

const CRIU_PATHS = ['/usr/sbin/criu', '/usr/bin/criu', '/usr/local/sbin/criu', '/usr/local/bin/criu'];

const WORK_PREFIX = '.checkpoint-';

/** Writes an archive as `checkpointctl` reads it; the container goes on. */
export function checkpointContainer(deps: CheckpointDeps): RuntimeService['checkpointContainer'] {
  const underWay = new Set<string>();
  return async ({ containerId, location, timeout }, signal) => {
    const record = deps.store.find(containerId);
    if (!record) throw containerNotFound(containerId);
    if (!location.startsWith('/')) throw invalidField('location', 'must be an absolute path');
    if (record.state.phase !== 'running') {
      const why = `container ${record.id} is in ${criStateName(record)} state, only those that run can be checkpointed`;
      throw new CriError('FailedPrecondition', why);
    }
    if (underWay.has(record.id)) {
      throw new CriError('FailedPrecondition', `a checkpoint of container ${record.id} is under way`);
    }
    const limited = timeout > 0n ? AbortSignal.any([signal, deps.clock.deadline(Number(timeout) * 1000)]) : signal;
    underWay.add(record.id);
    try {
      const { program } = runtimeForContainer(deps.runtimes, record);
      await requireCriu(program, deps, limited);
      await writeArchive(record, program, location, deps, limited);
    } catch (error) {
      if (limited.aborted && !signal.aborted) {
        throw new CriError('DeadlineExceeded', `checkpoint of container ${record.id} took more than ${timeout} s`);
      }
      throw asCriError('cannot checkpoint container', error, signal);
    } finally {
      underWay.delete(record.id);
    }
    return {};
  };
}

/** Asked each time: who installs criu need not restart anything. */
async function requireCriu(program: string, deps: CheckpointDeps, signal: AbortSignal): Promise<void> {
  const { fs, processes } = deps;
  const places = await Promise.all(CRIU_PATHS.map(async (path) => ((await fs.stat(path)) ? path : undefined)));
  const criu = places.find((path) => path !== undefined);
  if (!criu) throw unimplemented('criu is not installed');
  if (posix.basename(program) === 'crun') {
    const { stdout } = await processes.run({ program, args: ['--version'] }, signal);
    if (!decodeText(stdout).includes('+CRIU')) throw unimplemented(`${program} was built without criu`);
  }
  const check = await processes.run({ program: criu, args: ['check'] }, signal);
  if (check.exitCode !== 0) throw unimplemented(`criu does not work on this machine: ${lastLine(check)}`);
}

async function writeArchive(
  record: ContainerRecord,
  program: string,
  location: string,
  deps: CheckpointDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, log, ociCommand, processes } = deps;
  // Beside the archive: all memory of the container goes there, so it must be on a disk.
  const folder = `${posix.dirname(location)}/${WORK_PREFIX}${record.id}`;
  const [files, archive] = [`${folder}/files`, `${folder}/archive`];
  await removeStaleWorkFolders(record.id, posix.dirname(location), deps);
  try {
    await fs.makeDirectory(folder, 0o700); // nobody else reads the memory of a container, whatever the umask says
    await fs.makeDirectory(`${files}/checkpoint`, 0o700);
    const args = ['checkpoint', '--image-path', `${files}/checkpoint`, '--work-path', files, '--leave-running'];
    requireSuccess(await ociCommand(program, [...args, record.id], signal));
    await writeDumps(record, program, files, deps);
    requireSuccess(await processes.run({ program: 'tar', args: ['-C', files, '-cf', archive, '.'] }, signal));
    await fs.changeMode(archive, 0o600);
    await fs.rename(archive, location);
  } finally {
    await fs.removeTree(folder).catch((error: unknown) => {
      log.warn('cannot remove what a checkpoint left', { folder, error: errorText(error) });
    });
  }
}

/** Takes away what lives that were killed left of this container, and of those that are gone. */
async function removeStaleWorkFolders(id: string, place: string, { fs, store }: CheckpointDeps): Promise<void> {
  for (const { name } of (await fs.stat(place)) ? await fs.readDirectory(place) : []) {
    const owner = name.startsWith(WORK_PREFIX) ? name.slice(WORK_PREFIX.length) : '';
    if (!/^[0-9a-f]{64}$/.test(owner)) continue;
    if (owner === id || store.find(owner) === undefined) await fs.removeTree(`${place}/${name}`);
  }
}

/** The files by which tools know what was checkpointed. */
async function writeDumps(
  record: ContainerRecord,
  program: string,
  folder: string,
  deps: CheckpointDeps,
): Promise<void> {
  const { clock, fs } = deps;
  const config = {
    id: record.id,
    name: record.config.metadata?.name ?? '',
    rootfsImage: record.config.image?.image ?? '',
    rootfsImageRef: record.imageRef,
    rootfsImageName: record.config.image?.userSpecifiedImage ?? '',
    runtime: posix.basename(program),
    createdTime: formatNanoTime(record.createdAtNs),
    checkpointedTime: formatTime(clock.now()),
  };
  const spec = (await readBundleConfig(record.id, deps)) ?? record.spec;
  await Promise.all([
    fs.writeFile(`${folder}/config.dump`, JSON.stringify(config), { mode: 0o600 }),
    fs.writeFile(`${folder}/spec.dump`, JSON.stringify(spec), { mode: 0o600 }),
  ]);
}

function requireSuccess(finished: Finished): void {
  if (finished.exitCode !== 0) throw new Error(lastLine(finished));
}

function lastLine({ stdout, stderr }: Finished): string {
  const lines = `${decodeText(stdout)}\n${decodeText(stderr)}`.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1) ?? 'without a word';
}

function unimplemented(why: string): CriError {
  return new CriError('Unimplemented', `checkpoint is not possible here: ${why}`);
}

function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
