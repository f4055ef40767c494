import { posix } from 'node:path';
import { errorText } from '../../base/error-text.ts';
import { formatNanoTime, formatTime } from '../../base/rfc3339.ts';
import { CriError } from '../../cri/cri-error.ts';
import { invalidField } from '../../cri/field-error.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { CommandResult } from '../../host/processes.ts';
import type { ContainerDeps } from '../container/container-deps.ts';
import { asCriError, containerNotFound } from '../container/container-errors.ts';
import { readBundleConfig } from '../container/container-files.ts';
import { criStateName } from '../container/container-messages.ts';
import type { ContainerStore } from '../container/container-store.ts';
import type { OciRuntime } from '../oci/oci-runtime.ts';
import { runtimeForRecord } from '../oci/runtime-for-record.ts';
import type { ContainerRecord } from '../store/container-record.ts';

export type CheckpointDeps = Pick<
  ContainerDeps,
  'clock' | 'fs' | 'log' | 'paths' | 'runtimes' | 'ociCommand' | 'processes'
> & { readonly store: Pick<ContainerStore, 'find'> };

const CRIU_PATHS = ['/usr/sbin/criu', '/usr/bin/criu', '/usr/local/sbin/criu', '/usr/local/bin/criu'];

const WORK_PREFIX = '.checkpoint-';

/** Writes an archive in the format of `checkpointctl`; the container keeps running. */
export function checkpointContainer(deps: CheckpointDeps): RuntimeService['checkpointContainer'] {
  const inProgress = new Set<string>();
  return async ({ containerId, location, timeout }, signal) => {
    const record = deps.store.find(containerId);
    if (!record) throw containerNotFound(containerId);
    if (!location.startsWith('/')) throw invalidField('location', 'must be an absolute path');
    if (record.state.phase !== 'running') {
      const why = `container ${record.id} is in ${criStateName(record)} state, only running containers can be checkpointed`;
      throw new CriError('FailedPrecondition', why);
    }
    if (inProgress.has(record.id)) {
      throw new CriError('FailedPrecondition', `a checkpoint of container ${record.id} is in progress`);
    }
    const limited = timeout > 0n ? AbortSignal.any([signal, deps.clock.deadline(Number(timeout) * 1000)]) : signal;
    inProgress.add(record.id);
    try {
      const runtime = runtimeForRecord(deps.runtimes, record);
      await requireCriu(runtime.program, deps, limited);
      await writeArchive(record, runtime, location, deps, limited);
    } catch (error) {
      if (limited.aborted && !signal.aborted) {
        throw new CriError('DeadlineExceeded', `checkpoint of container ${record.id} took more than ${timeout} s`);
      }
      throw asCriError('cannot checkpoint container', error, signal);
    } finally {
      inProgress.delete(record.id);
    }
    return {};
  };
}

/** Checked on each call, so that installing criu needs no restart. */
async function requireCriu(program: string, deps: CheckpointDeps, signal: AbortSignal): Promise<void> {
  const { fs, processes } = deps;
  const paths = await Promise.all(CRIU_PATHS.map(async (path) => ((await fs.stat(path)) ? path : undefined)));
  const criu = paths.find((path) => path !== undefined);
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
  runtime: OciRuntime,
  location: string,
  deps: CheckpointDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, log, ociCommand, processes } = deps;
  // Beside the archive, on a disk: it holds all memory of the container.
  const folder = `${posix.dirname(location)}/${WORK_PREFIX}${record.id}`;
  const [files, archive] = [`${folder}/files`, `${folder}/archive`];
  await removeStaleWorkFolders(record.id, posix.dirname(location), deps);
  try {
    await fs.makeDirectory(folder, 0o700); // private, whatever the umask is: it holds the container's memory
    await fs.makeDirectory(`${files}/checkpoint`, 0o700);
    const args = ['checkpoint', '--image-path', `${files}/checkpoint`, '--work-path', files, '--leave-running'];
    requireSuccess(await ociCommand(runtime, [...args, record.id], signal));
    await writeDumps(record, runtime.program, files, deps);
    requireSuccess(await processes.run({ program: 'tar', args: ['-C', files, '-cf', archive, '.'] }, signal));
    await fs.changeMode(archive, 0o600);
    await fs.rename(archive, location);
  } finally {
    await fs.removeTree(folder).catch((error: unknown) => {
      log.warn('cannot remove work directory of checkpoint', { folder, error: errorText(error) });
    });
  }
}

/** Removes work directories of killed processes, for this container and for containers that are gone. */
async function removeStaleWorkFolders(id: string, parent: string, { fs, store }: CheckpointDeps): Promise<void> {
  for (const { name } of (await fs.stat(parent)) ? await fs.readDirectory(parent) : []) {
    const owner = name.startsWith(WORK_PREFIX) ? name.slice(WORK_PREFIX.length) : '';
    if (!/^[0-9a-f]{64}$/.test(owner)) continue;
    if (owner === id || store.find(owner) === undefined) await fs.removeTree(`${parent}/${name}`);
  }
}

/** Writes the files in which tools look up what was checkpointed. */
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

function requireSuccess(finished: CommandResult): void {
  if (finished.exitCode !== 0) throw new Error(lastLine(finished));
}

function lastLine({ stdout, stderr }: CommandResult): string {
  const lines = `${decodeText(stdout)}\n${decodeText(stderr)}`.split('\n').filter((line) => line.trim() !== '');
  return lines.at(-1) ?? 'no output';
}

function unimplemented(why: string): CriError {
  return new CriError('Unimplemented', `checkpoint is not possible here: ${why}`);
}

function decodeText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
