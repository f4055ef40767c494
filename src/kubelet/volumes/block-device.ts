import { dirname } from 'node:path';
import { errorText } from '../../base/error-text.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { Mounts } from '../../host/mounts.ts';
import type { Processes } from '../../host/processes.ts';
import { podCauseOf } from '../pod/pod-cause.ts';
import { makeNodeDirectory } from './make-node-directory.ts';
import { exitText, runProgram } from './mount-helper/run-program.ts';
import { VolumeError } from './volume-error.ts';
import type { HostDevice } from './volume-plugin.ts';

const SYS_BLOCK = '/sys/block';
const FILE_MODE = 0o750;

export interface BlockDeviceDeps {
  readonly fs: FileSystem;
  readonly mounts: Mounts;
  readonly processes: Processes;
  readonly settings: { readonly rootDir: string };
}

/** Where a device of a pod is mapped to. */
export interface BlockMapping {
  readonly podUid: string;
  /** The directory of the volume with one file for each of its pods: `…/plugins/kubernetes.io~local-volume/volumeDevices/pv`. */
  readonly globalMapPath: string;
  /** The link of the pod: `volumeDevicePath`. */
  readonly link: string;
}

/**
 * Maps a block device for a pod, at kubelet's paths: a bind mount for the node, and a link for the pod. A loop device on the
 * bind mount keeps the device open, so that its name is not given to another device while the pod uses it.
 */
export async function mapBlockDevice(
  device: string,
  mapping: BlockMapping,
  readOnly: boolean,
  deps: BlockDeviceDeps,
  signal: AbortSignal,
): Promise<HostDevice> {
  const { fs, mounts } = deps;
  const { podUid, globalMapPath, link } = mapping;
  const path = await fs.realPath(device).catch((cause: unknown) => {
    throw new VolumeError('MapVolume.EvalHostSymlinks', errorText(cause), undefined, { cause });
  });
  try {
    const file = `${globalMapPath}/${podUid}`;
    // First, because it shows that there is something to unmap. The device may have another name since the machine started.
    await makeNodeDirectory(dirname(link), deps);
    const isLinked = (await fs.lstat(link))?.kind === 'symlink' && (await fs.readLink(link)) === path;
    if (!isLinked) {
      await fs.remove(link);
      await fs.symbolicLink(path, link);
    }
    await makeNodeDirectory(globalMapPath, deps);
    if (!(await fs.lstat(file))) await fs.writeFile(file, '', { mode: FILE_MODE });
    const real = await fs.realPath(file);
    const isMapped = (await mounts.list()).some(({ target }) => target === real);
    if (!isMapped) await mounts.mount({ source: path, target: file, flags: ['bind'] });
    if ((await findLoopDevice(file, fs)) === undefined) await runLosetup(['-f', file], deps, signal);
  } catch (cause) {
    signal.throwIfAborted();
    throw new VolumeError('MapVolume.MapBlockVolume', errorText(cause), podCauseOf(cause), { cause });
  }
  return { path: link, readOnly, globalMapPath };
}

/** Safe for a device that was mapped half-way. */
export async function unmapBlockDevice(
  mapping: BlockMapping,
  deps: BlockDeviceDeps,
  signal: AbortSignal,
): Promise<void> {
  await closeBlockDevice(mapping, deps, signal);
  await deps.fs.remove(mapping.link);
}

/** The same for a pod whose link is still needed. */
export async function closeBlockDevice(
  { podUid, globalMapPath }: Omit<BlockMapping, 'link'>,
  deps: BlockDeviceDeps,
  signal: AbortSignal,
): Promise<void> {
  const { fs, mounts } = deps;
  const file = `${globalMapPath}/${podUid}`;
  if (!(await fs.lstat(file))) return;
  const loop = await findLoopDevice(file, fs);
  if (loop !== undefined) await runLosetup(['-d', loop], deps, signal);
  await mounts.unmount(file);
  await fs.remove(file);
}

/** The loop device of a file, as sysfs has it: the kernel appends a text to the path of a removed file. */
async function findLoopDevice(file: string, fs: FileSystem): Promise<string | undefined> {
  const real = await fs.realPath(file);
  const devices = (await fs.lstat(SYS_BLOCK)) ? await fs.readDirectory(SYS_BLOCK) : [];
  for (const { name } of devices.filter((each) => each.name.startsWith('loop'))) {
    const text = await fs.readText(`${SYS_BLOCK}/${name}/loop/backing_file`).catch(() => ''); // not in use
    const backing = text.trim().replace(/ ?\(deleted\)$/, '');
    if (backing === file || backing === real) return `/dev/${name}`;
  }
  return undefined;
}

async function runLosetup(args: readonly string[], { processes }: BlockDeviceDeps, signal: AbortSignal): Promise<void> {
  const result = await runProgram(processes, 'losetup', args, signal);
  if (result.exitCode === 0) return;
  throw new Error(`losetup ${args.join(' ')} failed: ${exitText(result)}: ${result.output.trim()}`);
}
