import type { Log } from '../base/log.ts';
import { FolderTakenError } from '../host/folder-claims.ts';
import type { Host } from '../host/host.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import type { AgentProcess } from './agent-process.ts';
import { agentSettings } from './agent-settings.ts';
import { type BuiltAgent, buildConnectedAgent } from './build-connected-agent.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { startLocalRuntime } from './embedded/local-runtime.ts';
import { requireOwnFolder } from './embedded/path-owner.ts';
import { StartupError } from './embedded/startup-error.ts';
import { BUSYBOX_IMAGE } from './images/local-images.ts';
import { agentDir, claimVolumesDir } from './local-folders.ts';
import { bridgeName, DEFAULT_ROOT_DIR } from './pod-network/bridge-name.ts';
import { shareRootDir, unshareRootDir } from './shared-root.ts';
import type { AgentFactory } from './start-local-agent.ts';
import { connectPrepared, type StartedRuntime } from './start-runtime.ts';

/**
 * The domain of pods with a `subdomain`: that of a cluster that kubeadm creates. kubelet has no default; there such a
 * pod's FQDN ends in `.svc.`.
 */
const CLUSTER_DOMAIN = 'cluster.local';

/** Options of `nodelet run` that the agent and its runtime depend on. */
export interface LocalAgentConfig {
  readonly rootDir: string;
  readonly stateDir: string;
  readonly podCidr: string;
  readonly registryConfigDirs: readonly string[];
}

export interface LocalAgentProcess extends AgentProcess {
  /** The start reports there that it waits for an image command. */
  readonly terminal: { readonly stderr: { write(text: string): Promise<unknown> } };
}

/**
 * Builds the agent of `nodelet run`: standalone, with kubelet's defaults, on an embedded runtime of its own. Unlike kubelet it
 * starts on a machine with swap, which its pods do not use (NoSwap).
 */
export function createLocalAgentFactory(
  config: LocalAgentConfig,
  source: PodSource,
  process: LocalAgentProcess,
  log: Log,
): AgentFactory {
  return {
    startRuntime: (signal) => startClaimedRuntime(config, process, log, signal),
    build: (runtime, signal) => buildLocalAgent(runtime, config, source, process, log, signal),
  };
}

/** Holds the claim on the agent's folder, which is a shared mount, for as long as the runtime runs. */
async function startClaimedRuntime(
  { rootDir, stateDir, podCidr, registryConfigDirs }: LocalAgentConfig,
  { host, version, pid, env, terminal, unhandled }: LocalAgentProcess,
  log: Log,
  signal: AbortSignal,
): Promise<StartedRuntime> {
  const claim = await claimAgentDir(rootDir, host);
  const shared = { fs: host.fs, mounts: host.mounts, log };
  const unshare = (): Promise<boolean> => unshareRootDir(agentDir(rootDir), shared);
  try {
    await shareRootDir(agentDir(rootDir), shared);
    const onWaiting = (text: string): void => void terminal.stderr.write(`${text}\n`).catch(() => {});
    const runtime = await startLocalRuntime(
      { host, rootDir, stateDir, podCidr, registryConfigDirs, version, pid, env, log, unhandled, onWaiting },
      signal,
    );
    const { connect, prepare, isEmpty } = runtime;
    const stop = async (): Promise<boolean> => (await runtime.stop()) && unshare();
    return { connect, prepare, isEmpty, stop: () => stop().finally(() => claim[Symbol.asyncDispose]()) };
  } catch (error) {
    await unshare();
    await claim[Symbol.asyncDispose]();
    throw error;
  }
}

async function buildLocalAgent(
  runtime: StartedRuntime,
  { rootDir }: LocalAgentConfig,
  source: PodSource,
  { host, machine, env, unhandled }: LocalAgentProcess,
  log: Log,
  signal: AbortSignal,
): Promise<BuiltAgent> {
  const flags = [`--root-dir=${agentDir(rootDir)}`, `--cluster-domain=${CLUSTER_DOMAIN}`];
  const { settings } = await loadKubeletConfig(flags, { fs: host.fs, hostname: machine.hostname }, signal);
  // Without links in /var/log/containers: the log collectors of the machine belong to a cluster. No container has CPUs of
  // its own either.
  const { containerLogsDir: _, cpuManager: __, ...kubeletDefaults } = agentSettings(settings, machine, { env });
  const { runtimeRequestTimeout: runtimeRequestTimeoutMs } = settings.parsed.ms;
  const connection = await connectPrepared(runtime, { clock: host.clock, runtimeRequestTimeoutMs }, signal);
  return buildConnectedAgent(
    {
      host,
      connection,
      sources: [source],
      settings: {
        ...kubeletDefaults,
        podLogsDir: `${rootDir}/pod-logs`,
        claimVolumesDir: claimVolumesDir(rootDir),
        cgroupRoot: localCgroupRoot(rootDir),
        keptImages: [BUSYBOX_IMAGE],
      },
      log,
      unhandled,
    },
    signal,
  );
}

/** Excludes a second agent on the same folder: `nodelet run` or `nodelet kubelet`. */
async function claimAgentDir(rootDir: string, { fs, folderClaims }: Host): Promise<AsyncDisposable> {
  await fs.makeDirectory(agentDir(rootDir), 0o750);
  await requireOwnFolder(fs, agentDir(rootDir));
  return folderClaims.claim(agentDir(rootDir), 'agent').catch((error: unknown) => {
    if (!(error instanceof FolderTakenError)) throw error;
    const taken = new FolderTakenError(rootDir, error.holder);
    throw new StartupError(`--root: ${taken.message}`, { cause: error });
  });
}

/** Separates the pods from those of a kubelet, and of a `nodelet run` with another root, on the same machine. */
function localCgroupRoot(rootDir: string): string {
  return rootDir === DEFAULT_ROOT_DIR ? '/nodelet' : `/${bridgeName(rootDir)}`;
}
