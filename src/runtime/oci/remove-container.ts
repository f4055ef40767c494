import { killAndRemoveCgroup } from '../../host/kill-cgroup.ts';
import { bundleFiles } from './bundle-files.ts';
import { exitFilePath } from './container-exit.ts';
import { findMonitor } from './find-monitor.ts';
import { type OciDeps, runRuntime } from './oci-deps.ts';
import { type ContainerRef, OciError } from './oci-runtime.ts';
import type { OciSpec } from './oci-spec.ts';
import { readSpec } from './prepare-config.ts';
import { failureText } from './runtime-output.ts';
import { cgroupFolder, isScopePath } from './scope-path.ts';

/** How long a monitor may take to write its exit file once its container is gone. */
const MONITOR_EXIT_MS = 2_000;
/** Only a fork between listing and killing needs another round, on kernels that cannot kill a cgroup. */
const MAX_KILL_ROUNDS = 50;

export async function removeContainer(container: ContainerRef, deps: OciDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const [spec, exit] = await Promise.all([readSpec(container, deps), deps.fs.stat(exitFilePath(container, deps))]);
  const isSimple = deps.crun !== undefined && exit !== undefined && spec !== undefined && !needsRuntime(spec);
  if (!isSimple) await deleteState(container, deps, signal);
  await endMonitor(container, deps, signal);
  const cgroup = spec && cgroupPath(spec);
  if (cgroup !== undefined) await removeCgroup(cgroup, deps, signal);
  const { pid, monitorPid, alive, control, oom, attach } = bundleFiles(container);
  const files = [pid, monitorPid, alive, control, oom, attach, exitFilePath(container, deps)];
  await Promise.all([
    ...files.map((path) => deps.fs.remove(path)),
    deps.fs.removeTree(`${deps.sockets}/${container.id}`),
    deps.fs.removeTree(stateFolder(container, deps)),
  ]);
}

/** crun leaves only a cgroup and a directory of an exited container; the exceptions are listed here. */
function needsRuntime(spec: OciSpec): boolean {
  const { hooks, linux } = spec;
  if (isScopePath(linux.cgroupsPath)) return true; // its scope has to be stopped
  return (hooks?.poststop ?? []).length > 0 || linux.intelRdt !== undefined || cgroupPath(spec) === undefined;
}

function stateFolder({ id }: ContainerRef, { stateRoot }: OciDeps): string {
  return `${stateRoot}/${id}`;
}

/** Runs its hooks, kills its processes, and removes its cgroup. */
async function deleteState(container: ContainerRef, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const folder = stateFolder(container, deps);
  if ((await deps.fs.stat(folder)) === undefined) return;
  const finished = await runRuntime(deps, ['delete', '--force', container.id], signal);
  if (finished.exitCode === 0 || (await deps.fs.stat(folder)) === undefined) return;
  throw new OciError(failureText(finished));
}

async function endMonitor(container: ContainerRef, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const monitor = await findMonitor(container, deps);
  if (monitor === undefined) return;
  const timeout = AbortSignal.any([signal, deps.clock.deadline(MONITOR_EXIT_MS)]);
  try {
    await deps.fifos.untilWritersClose(bundleFiles(container).alive, timeout);
  } catch (error) {
    signal.throwIfAborted();
    if (!timeout.aborted) throw error;
  }
  // The monitor is still there if a create hangs: kill the create too.
  await deps.processes.killTree(monitor);
  await deps.processes.waitForExit(monitor, signal);
}

/** Removes the cgroup that is left if the runtime was killed, or if the container has no PID namespace. */
async function removeCgroup(path: string, deps: OciDeps, signal: AbortSignal): Promise<void> {
  if (await deps.cgroups.exists(path)) await killAndRemoveCgroup(path, deps, MAX_KILL_ROUNDS, signal);
}

function cgroupPath({ linux: { cgroupsPath } }: OciSpec): string | undefined {
  if (isScopePath(cgroupsPath)) return cgroupFolder(cgroupsPath);
  return cgroupsPath.startsWith('/') && cgroupsPath !== '/' ? cgroupsPath : undefined;
}
