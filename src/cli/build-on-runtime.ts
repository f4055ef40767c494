import type { AgentSettings } from '../app/agent.ts';
import { buildAgent } from '../app/build-agent.ts';
import type { Log } from '../base/log.ts';
import { chooseRuntimeEvents } from '../cri/choose-runtime-events.ts';
import { connectCri } from '../cri/client.ts';
import type { Cri } from '../cri/services.ts';
import { unstickContainers } from '../cri/unstick-containers.ts';
import type { Host } from '../host/host.ts';
import type { PodSource } from '../kubelet/sources/pod-source.ts';
import type { BuiltAgent } from './local-agent.ts';

export interface BuildOptions {
  readonly host: Host;
  readonly endpoint: string;
  readonly runtimeRequestTimeoutMs: number;
  readonly sources: readonly PodSource[];
  readonly settings: AgentSettings;
  readonly log: Log;
  /** What has to be true of the runtime before the agent begins. */
  prepare(cri: Cri): Promise<unknown>;
}

/** An agent on the runtime behind `endpoint`. The connection is closed again when that fails. */
export async function buildOnRuntime(options: BuildOptions, signal: AbortSignal): Promise<BuiltAgent> {
  const { host, endpoint, runtimeRequestTimeoutMs, sources, settings, log } = options;
  const connection = connectCri(endpoint, { clock: host.clock, runtimeRequestTimeoutMs });
  const cri = { ...connection, runtime: unstickContainers(connection.runtime, { endpoint, clock: host.clock }) };
  try {
    await options.prepare(cri);
    const runtimeEvents = await chooseRuntimeEvents({ ...host, endpoint, runtime: cri.runtime }, signal);
    const agent = await buildAgent({ host, cri, runtimeEvents, sources, settings, log }, signal);
    return { agent, runtime: cri.runtime, close: () => cri.close() };
  } catch (error) {
    cri.close();
    throw error;
  }
}
