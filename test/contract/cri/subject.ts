import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ContainerConfig,
  type ContainerConfig as ContainerConfigMessage,
  ContainerState,
  type ContainerStatus,
  ListContainersRequest,
  ListPodSandboxRequest,
  NamespaceMode,
  PodSandboxConfig,
} from '../../../src/cri/generated/runtime-v1.ts';
import type { RuntimeEvents } from '../../../src/cri/runtime-events.ts';
import type { Cri } from '../../../src/cri/services.ts';
import type { ExpectedError, ExpectedErrors } from './expected-errors.ts';
import { PROGRAMS, type ProgramName } from './programs.ts';

/** A runtime under test, with its environment. */
export interface Subject {
  readonly cri: Cri;
  readonly events: RuntimeEvents;
  /** A present image that can run `PROGRAMS`. */
  readonly image: string;
  /** A reference that cannot be pulled. */
  readonly unpullable: string;
  readonly errors: ExpectedErrors;
  readonly logDirectory: string;
  readonly cgroupParent: string;
  readLog(path: string): Promise<string>;
  stop(): Promise<void>;
}

export const signal = new AbortController().signal;

/** Long enough for the busiest machine. */
const TIMEOUT_MS = 180_000;

let pods = 0;

/** A pod of one test; `remove` removes it. */
export interface TestPod {
  readonly id: string;
  readonly config: PodSandboxConfig;
  create(program: ProgramName, change?: Partial<ContainerConfigMessage>): Promise<string>;
  /** Also waits until the program handles signals. */
  start(program: ProgramName): Promise<string>;
  remove(): Promise<void>;
}

export function podConfig({ logDirectory, cgroupParent }: Subject): PodSandboxConfig {
  const name = `pod-${process.pid}-${pods++}`;
  const namespaceOptions = { pid: NamespaceMode.CONTAINER };
  return PodSandboxConfig.fromPartial({
    metadata: { name, uid: `uid-of-${name}`, namespace: 'default', attempt: 0 },
    hostname: name,
    logDirectory: `${logDirectory}/${name}`,
    labels: { app: name, 'io.kubernetes.pod.uid': `uid-of-${name}` },
    annotations: { note: 'kept' },
    linux: { cgroupParent, securityContext: { namespaceOptions } },
  });
}

export async function runPod(subject: Subject): Promise<TestPod> {
  const { runtime } = subject.cri;
  const config = podConfig(subject);
  const { podSandboxId: id } = await runtime.runPodSandbox({ config, runtimeHandler: '' }, signal);
  const create: TestPod['create'] = async (program, change = {}) => {
    const container = { ...containerConfig(subject, program), ...change };
    const request = { podSandboxId: id, config: container, sandboxConfig: config };
    return (await runtime.createContainer(request, signal)).containerId;
  };
  return {
    id,
    config,
    create,
    async start(program) {
      const containerId = await create(program);
      await runtime.startContainer({ containerId }, signal);
      if ('saysReady' in PROGRAMS[program]) await untilReady(subject, `${config.logDirectory}/${program}/0.log`);
      return containerId;
    },
    async remove() {
      await runtime.removePodSandbox({ podSandboxId: id }, signal);
    },
  };
}

function containerConfig({ image }: Subject, program: ProgramName): ContainerConfigMessage {
  return ContainerConfig.fromPartial({
    metadata: { name: program, attempt: 0 },
    image: { image },
    command: [...PROGRAMS[program].command],
    labels: { program },
    annotations: { note: 'kept too' },
    logPath: `${program}/0.log`,
    linux: { securityContext: { namespaceOptions: { pid: NamespaceMode.CONTAINER } } },
  });
}

function untilReady({ readLog }: Subject, path: string): Promise<true> {
  return eventually(async () => ((await readLog(path)).includes('ready') ? true : undefined));
}

export async function statusOf({ cri }: Subject, containerId: string): Promise<ContainerStatus> {
  const { status } = await cri.runtime.containerStatus({ containerId, verbose: false }, signal);
  assert.ok(status);
  return status;
}

/** Waits until a container has exited by itself. */
export async function exitedStatus(subject: Subject, containerId: string): Promise<ContainerStatus> {
  return eventually(async () => {
    const status = await statusOf(subject, containerId);
    return status.state === ContainerState.CONTAINER_EXITED ? status : undefined;
  });
}

export async function eventually<T>(check: () => Promise<T | undefined>): Promise<T> {
  for (const limit = AbortSignal.timeout(TIMEOUT_MS); !limit.aborted; await delay(10)) {
    const found = await check();
    if (found !== undefined) return found;
  }
  throw new Error(`condition not met within ${TIMEOUT_MS} ms`);
}

export async function podIds(
  { cri }: Subject,
  filter: Parameters<typeof ListPodSandboxRequest.fromPartial>[0]['filter'],
) {
  const { items } = await cri.runtime.listPodSandbox(ListPodSandboxRequest.fromPartial({ filter }), signal);
  return items.map(({ id }) => id);
}

export async function containerIds(
  { cri }: Subject,
  filter: Parameters<typeof ListContainersRequest.fromPartial>[0]['filter'],
) {
  const { containers } = await cri.runtime.listContainers(ListContainersRequest.fromPartial({ filter }), signal);
  return containers.map(({ id }) => id);
}

/** For calls that some runtimes reject and others accept. */
export async function assertRejectsIfExpected(
  call: Promise<unknown>,
  expected: ExpectedError | undefined,
): Promise<void> {
  if (expected === undefined) await call;
  else await assert.rejects(call, expected);
}
