import { agentSettings } from '../../app/agent-settings.ts';
import { loadKubeletConfig } from '../../app/config/load-config.ts';
import { startLocalRuntime } from '../../app/embedded/local-runtime.ts';
import { BUSYBOX_IMAGE } from '../../app/images/local-images.ts';
import { bridgeName, DEFAULT_ROOT_DIR } from '../../app/pod-network/bridge-name.ts';
import type { Log } from '../../base/log.ts';
import type { PodSource } from '../../kubelet/sources/pod-source.ts';
import type { RunOptions } from '../options/commands.ts';
import { buildOnRuntime } from './build-on-runtime.ts';
import type { CommandContext } from './command-context.ts';
import type { AgentWiring, BuiltAgent, StartedRuntime } from './local-agent.ts';

/** The embedded runtime below `--root` and `--state`, and an agent with kubelet's defaults on it. */
export function localWiring(options: RunOptions, source: PodSource, context: CommandContext, log: Log): AgentWiring {
  const { rootDir, stateDir, podCidr, registryConfigDirs } = options;
  const { host, machine, version, env } = context;
  const build = async (runtime: StartedRuntime, signal: AbortSignal): Promise<BuiltAgent> => {
    const flags = [`--root-dir=${rootDir}/kubelet`];
    const { settings } = await loadKubeletConfig(flags, { fs: host.fs, hostname: machine.hostname }, signal);
    // Log collectors of the machine are a cluster's: these pods are none of their business.
    const { containerLogsDir: _, ...ofKubelet } = agentSettings(settings, machine);
    const connection = runtime.connect({ ...host, runtimeRequestTimeoutMs: settings.parsed.ms.runtimeRequestTimeout });
    return buildOnRuntime(
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
  const startRuntime = (signal: AbortSignal): Promise<StartedRuntime> => {
    return startLocalRuntime({ host, rootDir, stateDir, podCidr, registryConfigDirs, version, env, log }, signal);
  };
  return { startRuntime, build };
}

/** Pods live beside those of a kubelet, and of a `nodelet run` with another root, on the same machine. */
function cgroupRootOf(rootDir: string): string {
  return rootDir === DEFAULT_ROOT_DIR ? '/nodelet' : `/${bridgeName(rootDir)}`;
}
