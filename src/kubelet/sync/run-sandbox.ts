import type { Pod } from '../../api/generated/core-v1.ts';
import { textOf } from '../../base/text-of.ts';
import { CriError, rpcErrorText } from '../../cri/cri-error.ts';
import type { PodSandboxConfig } from '../../cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import type { PodEvents } from '../explain/pod-events.ts';
import type { Timeline } from '../explain/timeline.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import { type DnsSettings, type DnsWarning, podDns } from './config/dns.ts';
import { type SandboxSettings, sandboxConfig } from './config/sandbox-config.ts';
import { PodError } from './pod-error.ts';

export interface SandboxDeps {
  readonly runtime: RuntimeService;
  readonly fs: FileSystem;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly settings: SandboxSettings & DnsSettings;
  readonly hostFacts: HostFacts;
}

/** Makes a sandbox for the pod and returns its id. Rejects with a `PodError` that says what the runtime said. */
export async function runSandbox(pod: Pod, attempt: number, deps: SandboxDeps, signal: AbortSignal): Promise<string> {
  return deps.timeline.during(pod.metadata.uid, 'sandbox', undefined, async () => {
    const { config, warnings } = await podSandboxConfig(pod, attempt, deps);
    for (const { reason, message } of warnings) deps.events.record(pod, 'Warning', reason, message);
    try {
      const runtimeHandler = '';
      const { podSandboxId } = await deps.runtime.runPodSandbox({ config, runtimeHandler }, signal);
      return podSandboxId;
    } catch (error) {
      signal.throwIfAborted();
      const text = error instanceof CriError ? rpcErrorText(error) : textOf(error);
      const eventMessage = `Failed to create pod sandbox: ${text}`;
      throw new PodError('CreatePodSandboxError', text, { cause: error, eventMessage });
    }
  });
}

export interface PreparedSandbox {
  readonly config: PodSandboxConfig;
  /** What a user should know of, though the pod starts. */
  readonly warnings: readonly DnsWarning[];
}

/** The same for every container of the sandbox, so that CreateContainer can be told again. */
export async function podSandboxConfig(pod: Pod, attempt: number, deps: SandboxDeps): Promise<PreparedSandbox> {
  const { settings, hostFacts } = deps;
  const { config: dns, warnings } = podDns(pod, settings, await nodeResolvConf(deps));
  return { config: sandboxConfig({ pod, attempt, dns, settings, host: hostFacts }), warnings };
}

async function nodeResolvConf({ fs, settings }: SandboxDeps): Promise<string> {
  if (settings.resolvConf === '' || !(await fs.stat(settings.resolvConf))) return '';
  return fs.readText(settings.resolvConf);
}
