import { CgroupBusyError } from '../../host/cgroups.ts';
import { bundleFiles } from './bundle-files.ts';
import { exitFileOf } from './container-end.ts';
import { findMonitor } from './find-monitor.ts';
import { type OciDeps, runRuntime } from './oci-deps.ts';
import { type MonitoredName, OciError } from './oci-runtime.ts';
import type { OciSpec } from './oci-spec.ts';
import { readSpec } from './prepare-config.ts';
import { faultOf } from './runtime-words.ts';

/** How long a monitor may take to write its last words once its container is gone. */
const LAST_WORDS_MS = 2_000;
/** Each round kills all that is there; only a fork between looking and killing needs another. */
const KILL_ROUNDS = 50;

export async function removeContainer(container: MonitoredName, deps: OciDeps, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const [spec, exit] = await Promise.all([readSpec(container, deps), deps.fs.stat(exitFileOf(container, deps))]);
  const isSimple = deps.crun !== undefined && exit !== undefined && spec !== undefined && !needsRuntime(spec);
  if (!isSimple) await deleteState(container, deps, signal);
  await endMonitor(container, deps, signal);
  const cgroup = spec && cgroupOf(spec);
  if (cgroup !== undefined) await removeCgroup(cgroup, deps, signal);
  const { pid, monitorPid, alive, orders, oom, attach } = bundleFiles(container);
  const files = [pid, monitorPid, alive, orders, oom, attach, exitFileOf(container, deps)];
  await Promise.all([
    ...files.map((path) => deps.fs.remove(path)),
    deps.fs.removeTree(`${deps.sockets}/${container.id}`),
    deps.fs.removeTree(stateFolder(container, deps)),
  ]);
}

/** Of one that has ended, crun has a cgroup and a folder; all else that it may have is named here. */
function needsRuntime(spec: OciSpec): boolean {
  const { hooks, linux } = spec;
  return (hooks?.poststop ?? []).length > 0 || linux.intelRdt !== undefined || cgroupOf(spec) === undefined;
}

function stateFolder({ id }: MonitoredName, { stateRoot }: OciDeps): string {
  return `${stateRoot}/${id}`;
}

/** Its hooks run, its processes are killed, its cgroup goes. */
async function deleteState(container: MonitoredName, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const folder = stateFolder(container, deps);
  if ((await deps.fs.stat(folder)) === undefined) return;
  const finished = await runRuntime(deps, ['delete', '--force', container.id], signal);
  if (finished.exitCode === 0 || (await deps.fs.stat(folder)) === undefined) return;
  throw new OciError(faultOf(finished));
}

async function endMonitor(container: MonitoredName, deps: OciDeps, signal: AbortSignal): Promise<void> {
  const monitor = await findMonitor(container, deps);
  if (monitor === undefined) return;
  const patience = AbortSignal.any([signal, deps.clock.deadline(LAST_WORDS_MS)]);
  try {
    await deps.fifos.untilEnd(bundleFiles(container).alive, patience);
  } catch (error) {
    signal.throwIfAborted();
    if (!patience.aborted) throw error;
  }
  // Still there when a create hangs: then what it waits for goes, too.
  await deps.processes.killTree(monitor);
  await deps.processes.waitForExit(monitor, signal);
}

/** What the runtime leaves when it was killed itself, or when the container has no PID namespace. */
async function removeCgroup(path: string, deps: OciDeps, signal: AbortSignal): Promise<void> {
  if (!(await deps.cgroups.exists(path))) return;
  for (let round = 1; ; round++) {
    signal.throwIfAborted();
    try {
      return await deps.cgroups.remove(path);
    } catch (error) {
      if (!(error instanceof CgroupBusyError) || round === KILL_ROUNDS) throw error;
      await killAll(error.pids, deps, signal);
    }
  }
}

async function killAll(pids: readonly number[], { processes }: OciDeps, signal: AbortSignal): Promise<void> {
  const found = (await Promise.all(pids.map((pid) => processes.identify(pid)))).filter((each) => each !== undefined);
  await Promise.all(found.map((each) => processes.kill(each, 'SIGKILL')));
  await Promise.all(found.map((each) => processes.waitForExit(each, signal)));
}

function cgroupOf({ linux: { cgroupsPath } }: OciSpec): string | undefined {
  return cgroupsPath.startsWith('/') && cgroupsPath !== '/' ? cgroupsPath : undefined;
}
