import { agentSettings } from './agent-settings.ts';
import { loadKubeletConfig } from './config/load-config.ts';
import { startLocalRuntime } from './embedded/local-runtime.ts';
import { BUSYBOX_IMAGE } from './images/local-images.ts';
import { bridgeName, DEFAULT_ROOT_DIR } from './pod-network/bridge-name.ts';
import type { Log } from '../base/log.ts';
import { FolderTakenError } from '../host/folder-claims.ts';
import type { Host } from '../host/host.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import { CommandError } from '../cli/options/command-error.ts';
import type { RunOptions } from '../cli/options/commands.ts';
import { buildConnectedAgent } from './build-connected-agent.ts';
import type { CommandContext } from '../cli/commands/command-context.ts';
import type { AgentFactory, BuiltAgent, StartedRuntime } from './start-local-agent.ts';

/** The embedded runtime below `--root` and `--state`, and an agent with kubelet's defaults on it. */
export function createLocalAgentFactory(options: RunOptions, source: PodSource, context: CommandContext, log: Log): AgentFactory {
  const { rootDir, stateDir, podCidr, registryConfigDirs } = options;
  const { host, machine, version, pid, env, terminal } = context;
  const build = async (runtime: StartedRuntime, signal: AbortSignal): Promise<BuiltAgent> => {
    const flags = [`--root-dir=${agentDir(rootDir)}`];
    const { settings } = await loadKubeletConfig(flags, { fs: host.fs, hostname: machine.hostname }, signal);
    // Log collectors of the machine are a cluster's: these pods are none of their business.
    const { containerLogsDir: _, ...ofKubelet } = agentSettings(settings, machine);
    const connection = runtime.connect({ ...host, runtimeRequestTimeoutMs: settings.parsed.ms.runtimeRequestTimeout });
    return buildConnectedAgent(
      {
        host,
        connection,
        sources: [source],
        settings: {
          ...ofKubelet,
          podLogsDir: `${rootDir}/pod-logs`,
          cgroupRoot: cgroupRootOf(rootDir),
          keptImages: [BUSYBOX_IMAGE],
        },
        log,
        prepare: (cri) => runtime.prepare(cri, signal),
      },
      signal,
    );
  };
  const waiting = (text: string): void => void terminal.stderr.write(`${text}\n`).catch(() => {});
  const parts = { host, rootDir, stateDir, podCidr, registryConfigDirs, version, pid, env, log, waiting };
  const startRuntime = async (signal: AbortSignal): Promise<StartedRuntime> => {
    const claim = await claimAgentDir(rootDir, host);
    try {
      const runtime = await startLocalRuntime(parts, signal);
      const stop = (): Promise<boolean> => runtime.stop().finally(() => claim[Symbol.asyncDispose]());
      return { ...runtime, stop };
    } catch (error) {
      await claim[Symbol.asyncDispose]();
      throw error;
    }
  };
  return { startRuntime, build };
}

/** Where the agent has its pods: the folder that is `--root-dir` of kubelet. */
function agentDir(rootDir: string): string {
  return `${rootDir}/kubelet`;
}

/** Pods of one folder have one agent, be it `nodelet run` or `nodelet kubelet`. */
async function claimAgentDir(rootDir: string, { fs, folderClaims }: Host): Promise<AsyncDisposable> {
  await fs.makeDirectory(agentDir(rootDir), 0o750);
  return folderClaims.claim(agentDir(rootDir), 'agent').catch((error: unknown) => {
    if (!(error instanceof FolderTakenError)) throw error;
    const taken = new FolderTakenError(rootDir, error.holder);
    throw new CommandError(`--root: ${taken.message}`, undefined, { cause: error });
  });
}

/** Pods live beside those of a kubelet, and of a `nodelet run` with another root, on the same machine. */
function cgroupRootOf(rootDir: string): string {
  return rootDir === DEFAULT_ROOT_DIR ? '/nodelet' : `/${bridgeName(rootDir)}`;
}
