/**
 * The exports of `import … from 'nodelet'`: a node agent to embed into another program, with its own runtime, sources or
 * host.
 *
 *     const host = createLinuxHost(process.env);
 *     const settings = agentSettings(kubeletSettings, readMachineFacts(), { env: process.env });
 *     const cri = connectCri('unix:///run/containerd/containerd.sock', { clock: host.clock, runtimeRequestTimeoutMs });
 *     const agent = await buildAgent({ host, cri, runtimeEvents, sources, settings, log }, signal);
 *     await agent.run(signal);
 */
export type { Pod, PodStatus } from './api/generated/core-v1.ts';
export type { Agent, AgentParts, AgentSettings } from './app/agent.ts';
export { agentSettings } from './app/agent-settings.ts';
export { buildAgent } from './app/build-agent.ts';
export { type KubeletSettings, loadKubeletConfig } from './app/config/load-config.ts';
export { InvariantError } from './base/invariant-error.ts';
export { type Log, silentLog } from './base/log.ts';
export { UnhandledErrors } from './base/unhandled-errors.ts';
export { chooseRuntimeEvents } from './cri/choose-runtime-events.ts';
export { type CriConnection, connectCri } from './cri/client.ts';
export { type CriCode, CriError } from './cri/cri-error.ts';
export type { RuntimeEvent, RuntimeEvents } from './cri/runtime-events.ts';
export { serveCri } from './cri/server.ts';
export type { Cri, ImageService, RuntimeService } from './cri/services.ts';
export type { Host } from './host/host.ts';
export { createLinuxHost } from './host/linux/linux-host.ts';
export { readMachineFacts } from './host/linux/proc/read-machine-facts.ts';
export type { MachineFacts } from './host/machine-facts.ts';
export type { ApiServer } from './kubelet/api-client/api-server.ts';
export type { AgentEvent, AgentView, PodReport } from './kubelet/explain/agent-view.ts';
export { createApiSource } from './kubelet/sources/api-source.ts';
export { createFileSource } from './kubelet/sources/file-source.ts';
export { createHttpSource } from './kubelet/sources/http-source.ts';
export type { PodSource, SourceSnapshot } from './kubelet/sources/pod-source.ts';
