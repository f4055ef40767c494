import type { Pod } from '../../api/generated/core-v1.ts';
import type { PodSandboxConfig, UserNamespace } from '../../cri/generated/runtime-v1.ts';
import { goErrorText } from '../../cri/go-error-text.ts';
import type { RuntimeService } from '../../cri/services.ts';
import type { FileSystem } from '../../host/file-system.ts';
import { nodeReference } from '../events/object-references.ts';
import type { PodEvents } from '../events/pod-events.ts';
import type { Timeline } from '../events/timeline.ts';
import type { RuntimeHandlers } from '../objects/runtime-classes.ts';
import type { ObservedSandbox } from '../pod/observed-pod.ts';
import { PodError } from '../pod/pod-error.ts';
import type { HasExclusiveCpus } from '../resources/container-resources.ts';
import type { HostFacts } from '../resources/host-facts.ts';
import { type DnsSettings, type DnsWarning, podDns } from './config/dns.ts';
import { type SandboxSettings, sandboxConfig } from './config/sandbox-config.ts';
import { startChannel } from './start-channel.ts';

export interface SandboxDeps {
  readonly runtime: RuntimeService;
  readonly fs: FileSystem;
  readonly timeline: Timeline;
  readonly events: PodEvents;
  readonly settings: SandboxSettings & DnsSettings;
  readonly hostFacts: HostFacts;
  readonly runtimeHandlers: Pick<RuntimeHandlers, 'lookupHandler'>;
  readonly userNamespaces: PodUserNamespaces;
  readonly volumeGroups: VolumeGroups;
  readonly hasExclusiveCpus?: HasExclusiveCpus | undefined;
}

/** Groups that the persistent volumes of a prepared pod ask for, beyond those of its spec. */
export type VolumeGroups = (pod: Pod) => readonly number[];

/** Assigns the user namespace of a pod. Rejects with kubelet's message when it is not available. */
export interface PodUserNamespaces {
  namespaceFor(pod: Pod, runtimeHandler: string, signal: AbortSignal): Promise<UserNamespace>;
}

/** Creates a sandbox for the pod and returns its id. Rejects with a `PodError` with the runtime's message. */
export async function runSandbox(pod: Pod, attempt: number, deps: SandboxDeps, signal: AbortSignal): Promise<string> {
  startChannel.publish({ kind: 'sandboxStarting', pod });
  try {
    return await deps.timeline.during(pod.metadata.uid, 'sandbox', undefined, () =>
      createSandbox(pod, attempt, deps, signal),
    );
  } catch (error) {
    if (!signal.aborted) startChannel.publish({ kind: 'sandboxFailed', pod });
    throw error;
  }
}

async function createSandbox(pod: Pod, attempt: number, deps: SandboxDeps, signal: AbortSignal): Promise<string> {
  const runtimeHandler = await asSandboxError(() => deps.runtimeHandlers.lookupHandler(pod, signal), signal);
  const { config, warnings } = await podSandboxConfig(pod, { attempt, runtimeHandler }, deps, signal);
  recordDnsWarnings(pod, warnings, deps);
  const { podSandboxId } = await asSandboxError(
    () => deps.runtime.runPodSandbox({ config, runtimeHandler }, signal),
    signal,
  );
  return podSandboxId;
}

/** The events of the node precede those of the pod, as in kubelet. */
function recordDnsWarnings(pod: Pod, warnings: readonly DnsWarning[], { events }: SandboxDeps): void {
  for (const { reason, message, nodeMessage } of warnings) {
    const node = nodeReference(pod.spec.nodeName ?? '');
    if (nodeMessage !== undefined) events.recordOf(node, 'Warning', reason, nodeMessage);
    events.record(pod, 'Warning', reason, message);
  }
}

export interface PreparedSandbox {
  readonly config: PodSandboxConfig;
  /** Shown as events; the pod starts all the same. */
  readonly warnings: readonly DnsWarning[];
}

/**
 * The sandbox configuration for RunPodSandbox, and again for each CreateContainer. An existing sandbox keeps its
 * runtime handler, even if the runtime class has changed. Rejects with a `PodError`.
 */
export async function podSandboxConfig(
  pod: Pod,
  { attempt, runtimeHandler }: Pick<ObservedSandbox, 'attempt' | 'runtimeHandler'>,
  deps: SandboxDeps,
  signal: AbortSignal,
): Promise<PreparedSandbox> {
  const { settings, hostFacts } = deps;
  return asSandboxError(async () => {
    const { config: dns, warnings } = podDns(pod, settings, await nodeResolvConf(deps));
    const userNamespace = await deps.userNamespaces.namespaceFor(pod, runtimeHandler, signal);
    const extraGroups = deps.volumeGroups(pod);
    const hasExclusiveCpus = deps.hasExclusiveCpus?.(pod);
    const config = sandboxConfig({
      pod,
      attempt,
      dns,
      userNamespace,
      extraGroups,
      hasExclusiveCpus,
      settings,
      host: hostFacts,
    });
    return { config, warnings };
  }, signal);
}

/** Converts errors to the `PodError` of a failed sandbox. */
async function asSandboxError<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    const text = goErrorText(error);
    const eventMessage = `Failed to create pod sandbox: ${text}`;
    throw new PodError('CreatePodSandboxError', text, { cause: error, eventMessage });
  }
}

/** As in kubelet, pods do not start while the configured resolv.conf is missing. */
async function nodeResolvConf({ fs, settings: { resolvConf } }: SandboxDeps): Promise<string> {
  if (resolvConf === '') return '';
  if (!(await fs.stat(resolvConf))) throw new Error(`open ${resolvConf}: no such file or directory`);
  return fs.readText(resolvConf);
}
