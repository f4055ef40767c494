import type { Log } from '../base/log.ts';
import type { RuntimeService } from '../cri/services.ts';
import type { Host } from '../host/host.ts';
import type { AgentView } from '../kubelet/explain/agent-view.ts';
import { MediaTypes } from '../kubelet/server/logs/media-types.ts';
import type { DebugHandlers } from '../kubelet/server/route.ts';
import type { DebugDeps } from '../kubelet/server/serve-debug-route.ts';
import type { AgentProcess } from './agent-process.ts';
import type { KubeletSettings } from './config/load-config.ts';

/** The slice of kubelet's configuration that its debugging handlers work with. */
export interface DebugSettings {
  /** Absent: `enableDebuggingHandlers` is off. */
  readonly handlers?: DebugHandlers | undefined;
  /** `enableSystemLogQuery` */
  readonly mayQueryLogs: boolean;
  readonly checkpointFolder: string;
  readonly runtimeTimeoutSeconds: number;
  readonly flags: Readonly<Record<string, string>>;
}

export type DebuggedProcess = Pick<AgentProcess, 'version' | 'setVerbosity'>;

export interface DebugParts {
  readonly host: Pick<Host, 'fs' | 'clock' | 'processes' | 'profiler'>;
  readonly log: Log;
  readonly view: Pick<AgentView, 'pods'>;
  readonly runtime: Pick<RuntimeService, 'execSync' | 'checkpointContainer'>;
  readonly process: DebuggedProcess;
  readonly kubernetesVersion: string;
}

export function debugSettings({ config, parsed, flags, flagTexts, featureGates }: KubeletSettings): DebugSettings {
  const isOn = (gate: 'ContainerCheckpoint' | 'ComponentFlagz' | 'ComponentStatusz') => featureGates.get(gate) ?? true;
  return {
    handlers: config.enableDebuggingHandlers
      ? {
          systemLogs: config.enableSystemLogHandler,
          profiles: config.enableProfilingHandler,
          flags: config.enableDebugFlagsHandler,
          checkpoints: isOn('ContainerCheckpoint'),
          flagz: isOn('ComponentFlagz'),
          statusz: isOn('ComponentStatusz'),
        }
      : undefined,
    mayQueryLogs: config.enableSystemLogQuery ?? false,
    checkpointFolder: `${flags.rootDir}/checkpoints`,
    runtimeTimeoutSeconds: parsed.ms.runtimeRequestTimeout / 1000,
    flags: flagTexts,
  };
}

export function debugDeps(settings: DebugSettings, parts: DebugParts): DebugDeps {
  const { fs, clock, processes, profiler } = parts.host;
  const { view, runtime, process, log, kubernetesVersion } = parts;
  const { checkpointFolder, runtimeTimeoutSeconds, mayQueryLogs, flags } = settings;
  return {
    calls: { view, runtime, fs, clock, checkpointFolder, runtimeTimeoutSeconds },
    logs: { fs, processes, clock, mayQuery: mayQueryLogs, mediaTypes: new MediaTypes(fs) },
    profiles: { profiler, fs },
    fs,
    clock,
    flags,
    status: { kubernetesVersion, languageVersion: `nodelet${process.version}`, paths: listedPaths(settings) },
    setVerbosity(verbosity) {
      log.info('the verbosity of the log was set', { verbosity });
      process.setVerbosity?.(verbosity);
    },
  };
}

/** What `/statusz` lists: the paths that kubelet registers before it. */
function listedPaths({ handlers }: DebugSettings): readonly string[] {
  const fixed = ['/healthz', '/metrics', '/debug/flags/v', '/configz'];
  return [...fixed, ...(handlers?.flagz ? ['/flagz'] : []), ...(handlers?.systemLogs ? [] : ['/logs/'])];
}
