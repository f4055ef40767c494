import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ContainerState,
  type CreateContainerRequest,
  PodSandboxConfig,
  type RunPodSandboxRequest,
} from '../../src/cri/generated/runtime-v1.ts';
import type { RuntimeService } from '../../src/cri/services.ts';
import { untilListening } from '../integration/agent-fixture.ts';

/** The CRI requests of an agent to start a pod. */
export interface PodRequests {
  readonly sandbox: RunPodSandboxRequest;
  readonly containers: readonly CreateContainerRequest[];
}

/** A runtime without an agent. */
export interface BareRuntime {
  readonly runtime: RuntimeService;
  readonly logFolder: string;
  readonly cgroupParent: string;
}

export interface BareCriTimes {
  readonly startMs: number;
  readonly deleteMs: number;
}

interface MadeContainer {
  readonly id: string;
  readonly logPath: string;
  /** The other containers exit by themselves. */
  readonly stays: boolean;
}

const STOP_SECONDS = 5n;
const signal = new AbortController().signal;

/**
 * Creates the same pod with the bare calls, sequentially, and removes it again: no directories, no volumes, no
 * pod cgroup, no status calls except for a container whose exit must be awaited.
 */
export async function runBareCri(requests: PodRequests, bare: BareRuntime): Promise<BareCriTimes> {
  const { runtime } = bare;
  const config = PodSandboxConfig.fromPartial({
    ...requests.sandbox.config,
    logDirectory: join(bare.logFolder, requests.sandbox.config?.metadata?.name ?? ''),
    linux: { ...requests.sandbox.config?.linux, cgroupParent: bare.cgroupParent },
  });
  const began = performance.now();
  const { podSandboxId } = await runtime.runPodSandbox({ ...requests.sandbox, config }, signal);
  const made: MadeContainer[] = [];
  for (const request of requests.containers) made.push(await startOne(podSandboxId, config, request, runtime));
  const startMs = performance.now() - began;

  const staying = made.filter(({ stays }) => stays);
  for (const { logPath } of staying) await untilListening(logPath);
  const stopping = performance.now();
  // As the agent does: the main container, which came last, stops first.
  for (const { id } of staying.toReversed()) {
    await runtime.stopContainer({ containerId: id, timeout: STOP_SECONDS }, signal);
  }
  await runtime.stopPodSandbox({ podSandboxId }, signal);
  await Promise.all(made.map(({ id }) => runtime.removeContainer({ containerId: id }, signal)));
  await runtime.removePodSandbox({ podSandboxId }, signal);
  return { startMs, deleteMs: performance.now() - stopping };
}

async function startOne(
  podSandboxId: string,
  sandboxConfig: PodSandboxConfig,
  { config }: CreateContainerRequest,
  runtime: RuntimeService,
): Promise<MadeContainer> {
  if (!config) throw new Error('the agent created a container without a configuration');
  const logPath = join(sandboxConfig.logDirectory, config.logPath);
  mkdirSync(dirname(logPath), { recursive: true });
  const request = { podSandboxId, config: { ...config, mounts: [] }, sandboxConfig };
  const { containerId: id } = await runtime.createContainer(request, signal);
  await runtime.startContainer({ containerId: id }, signal);
  const stays = config.metadata?.name !== 'prepare';
  if (!stays) await ended(id, runtime);
  return { id, logPath, stays };
}

async function ended(containerId: string, runtime: RuntimeService): Promise<void> {
  while (true) {
    const { status } = await runtime.containerStatus({ containerId, verbose: false }, signal);
    if (status?.state === ContainerState.CONTAINER_EXITED) return;
    await delay(1);
  }
}
