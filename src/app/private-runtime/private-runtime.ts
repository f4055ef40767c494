import type { Log } from '../../base/log.ts';
import { textOf } from '../../base/text-of.ts';
import type { Host } from '../../host/host.ts';
import type { ProcessIdentity } from '../../host/processes.ts';
import { RuntimeStartError } from '../embedded/runtime-start-error.ts';
import { PAUSE_IMAGE } from '../images/local-images.ts';
import { emptyChains, hostPortChainsExist, removeUnusedBridge } from '../pod-network/network-leftovers.ts';
import { CONFLIST_NAME, cniConfig } from './cni-config.ts';
import { containerdConfig } from './containerd-config.ts';
import { configDigest, type DaemonRecord, daemonRecordText } from './daemon-record.ts';
import { daemonArguments, findDaemon } from './find-daemon.ts';
import { mayRaiseLimits, workingSnapshotter } from './machine-limits.ts';
import { checkPreconditions } from './preconditions.ts';
import { daemonEnvironment } from './programs.ts';
import { hasPods, isEmpty, removeLeftovers } from './remove-leftovers.ts';
import { type RuntimePaths, runtimePaths } from './runtime-paths.ts';
import { answers, waitUntilReady } from './wait-until-ready.ts';

const READY_MS = 30_000;
const ANSWER_MS = 5_000;
const STOP_MS = 10_000;
const CLEANUP_MS = 30_000;
const LOG_TAIL_BYTES = 2_000;
/** A log that has grown beyond this starts anew with the daemon. */
const MAX_LOG_BYTES = 4 * 1024 * 1024;

export interface PrivateRuntimeOptions {
  readonly host: Host;
  /** Images live below it, and stay for the next run. */
  readonly rootDir: string;
  /** Sockets, pid files and mounts live below it. */
  readonly stateDir: string;
  /** `10.88.0.0/16` */
  readonly podCidr: string;
  readonly log: Log;
}

/** A containerd of Debian's that shares nothing with another one on this machine. */
export interface PrivateRuntime {
  /** `unix://…` */
  readonly endpoint: string;
  /** Whether it holds nothing of a pod, not even of one that nobody waits for any more. */
  isEmpty(): Promise<boolean>;
  /**
   * Ends the daemon and takes away all that it left but its images. While there are still pods, they and their network
   * stay as they are, and the next start finds them. Whether nothing is left.
   */
  stop(): Promise<boolean>;
}

interface Parts extends PrivateRuntimeOptions {
  readonly paths: RuntimePaths;
}

/**
 * Starts the daemon, or takes over the one of an earlier run that was killed; resolves when it can start pods. The
 * daemon lives on when we die. Rejects with a `RuntimeStartError` that tells the user why there is no runtime.
 */
export async function startPrivateRuntime(
  options: PrivateRuntimeOptions,
  signal: AbortSignal,
): Promise<PrivateRuntime> {
  const parts = { ...options, paths: runtimePaths(options) };
  await checkPreconditions({ ...options.host, paths: parts.paths, podCidr: options.podCidr });
  const daemon = await ensureDaemon(parts, signal).catch((error: unknown) => {
    signal.throwIfAborted(); // the caller gave up: that is no failure of the daemon
    throw error;
  });
  return {
    endpoint: `unix://${parts.paths.socket}`,
    isEmpty: () => isEmpty({ ...options.host, paths: parts.paths }),
    stop: () => stopRuntime(parts, daemon),
  };
}

async function ensureDaemon(parts: Parts, signal: AbortSignal): Promise<DaemonRecord> {
  const { host, log, paths } = parts;
  await removeUnusedBridge({ ...host, ...paths }, signal);
  const config = await writeConfiguration(parts);
  const found = await findDaemon({ ...host, paths });
  if (found.identity) {
    const isCurrent = found.record?.pid === found.identity.pid && found.record.configDigest === configDigest(config);
    if (isCurrent && (await isAnswering(parts, signal))) {
      log.info('taking over containerd', { pid: found.identity.pid });
      await waitOrExplain(parts, signal);
      return found.record;
    }
    log.info('restarting containerd', { pid: found.identity.pid });
    await endDaemon(parts, found.identity); // containers go on: their shims are no children of it
  }
  return startDaemon(parts, config, found.record, signal);
}

/** The text of config.toml, which stands in its file with all that it refers to. */
async function writeConfiguration({ host, paths, podCidr }: Parts): Promise<string> {
  const { fs, mounts } = host;
  for (const folder of [paths.root, paths.folder, paths.cniConfDir]) await fs.makeDirectory(folder, 0o711);
  const config = containerdConfig({
    paths,
    sandboxImage: PAUSE_IMAGE,
    snapshotter: await workingSnapshotter(paths.root, fs, mounts),
    restrictOomScoreAdj: !mayRaiseLimits(await fs.readText('/proc/self/status')),
  });
  await fs.writeAtomic(paths.config, config, { mode: 0o600 });
  await fs.writeAtomic(`${paths.cniConfDir}/${CONFLIST_NAME}`, cniConfig(paths, podCidr), { mode: 0o600 });
  return config;
}

async function startDaemon(
  parts: Parts,
  config: string,
  earlier: DaemonRecord | undefined,
  signal: AbortSignal,
): Promise<DaemonRecord> {
  const { host, paths, log } = parts;
  const ownsHostPortChains = earlier?.ownsHostPortChains ?? !(await hostPortChainsExist({ ...host, ...paths }, signal));
  if (((await host.fs.stat(paths.log))?.size ?? 0) > MAX_LOG_BYTES) await host.fs.remove(paths.log);
  signal.throwIfAborted();

  const daemon = await host.processes.startDaemon({
    program: 'containerd',
    args: daemonArguments(paths),
    env: daemonEnvironment(process.env),
    logFile: paths.log,
  });
  const { pid, startTime } = daemon;
  const record = { pid, startTime, configDigest: configDigest(config), ownsHostPortChains };
  try {
    await host.fs.writeAtomic(paths.record, daemonRecordText(record), { mode: 0o600 });
    log.debug('started containerd', { pid, log: paths.log });
    const ended = new AbortController();
    void daemon.exited.then(({ exitCode }) => ended.abort(new Error(`it ended with exit code ${exitCode}`)));
    await waitOrExplain(parts, AbortSignal.any([signal, ended.signal]));
    return record;
  } catch (error) {
    await stopRuntime(parts, record);
    throw error;
  }
}

async function isAnswering({ host, paths }: Parts, signal: AbortSignal): Promise<boolean> {
  const limit = host.clock.deadline(ANSWER_MS);
  try {
    return await answers(host.network, paths.socket, AbortSignal.any([signal, limit]));
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

/** A failure comes with the end of the daemon's log, which names the cause. */
async function waitOrExplain({ host, paths }: Parts, signal: AbortSignal): Promise<void> {
  try {
    await waitUntilReady({ ...host, paths }, AbortSignal.any([signal, host.clock.deadline(READY_MS)]));
  } catch (error) {
    const size = (await host.fs.stat(paths.log))?.size ?? 0;
    const tail = size === 0 ? '' : await logTail(host, paths.log, size);
    throw new RuntimeStartError(`containerd did not get ready: ${textOf(error)}${tail}`, { cause: error });
  }
}

async function logTail({ fs }: Host, path: string, size: number): Promise<string> {
  const bytes = await fs.readRange(path, Math.max(0, size - LOG_TAIL_BYTES), LOG_TAIL_BYTES);
  return `\n${new TextDecoder().decode(bytes).trimEnd()}`;
}

async function endDaemon({ host: { clock, processes }, log }: Parts, daemon: ProcessIdentity): Promise<void> {
  await processes.kill(daemon, 'SIGTERM');
  try {
    await processes.waitForExit(daemon, clock.deadline(STOP_MS));
  } catch {
    log.warn('containerd does not end, killing it', { pid: daemon.pid });
    await processes.kill(daemon, 'SIGKILL');
    await processes.waitForExit(daemon, clock.deadline(STOP_MS));
  }
}

async function stopRuntime(parts: Parts, daemon: DaemonRecord): Promise<boolean> {
  const { host, log, paths } = parts;
  const leftoverParts = { ...host, paths };
  const emptyBefore = await emptyChains({ ...host, ...paths }, host.clock.deadline(CLEANUP_MS));
  await endDaemon(parts, daemon);
  if (await hasPods(leftoverParts)) {
    log.warn('pods are left: they and their network stay', { bridge: paths.bridge });
    return false;
  }
  const before = { ownsHostPortChains: daemon.ownsHostPortChains, emptyChains: emptyBefore };
  await removeLeftovers(leftoverParts, before, host.clock.deadline(CLEANUP_MS));
  return true;
}
