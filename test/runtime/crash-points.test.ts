/** Kills the runtime at every single call to the host during the lifecycle of a pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateContainerRequest, ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { IMAGE } from '../../src/runtime/container/fake/container-world.ts';
import { NAMESPACES, podConfig } from '../../src/runtime/sandbox/fake/sandbox-world.ts';
import { createMachine, listTraces, type Machine, type RuntimeProcess, startRuntime } from './crash-world.ts';
import { ProcessKiller } from './process-killer.ts';

type Kind = keyof typeof NAMESPACES;

const signal = new AbortController().signal;

function podOf(name: string, kind: Kind) {
  return podConfig({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
    logDirectory: `/logs/${name}`,
    linux: { securityContext: { namespaceOptions: NAMESPACES[kind] } },
  });
}

async function startPod({ sandboxes, containers }: RuntimeProcess, name: string, kind: Kind) {
  const config = podOf(name, kind);
  const { podSandboxId } = await sandboxes.verbs.runPodSandbox({ config, runtimeHandler: '' }, signal);
  const create = async (index: number): Promise<string> => {
    const request = CreateContainerRequest.fromPartial({
      podSandboxId,
      sandboxConfig: config,
      config: {
        metadata: { name: `c${index}`, attempt: 0 },
        image: { image: IMAGE.id },
        mounts: [{ containerPath: '/volume', image: { image: IMAGE.id }, readonly: true }],
        logPath: `c${index}/0.log`,
        linux: { securityContext: { namespaceOptions: NAMESPACES[kind] } },
      },
    });
    const { containerId } = await containers.verbs.createContainer(request, signal);
    await containers.verbs.startContainer({ containerId }, signal);
    return containerId;
  };
  return { podSandboxId, containerIds: [await create(0), await create(1)] };
}

/** Runs the whole lifecycle of a pod. */
async function runLifecycle(runtime: RuntimeProcess, kind: Kind): Promise<void> {
  const { podSandboxId, containerIds } = await startPod(runtime, 'passing', kind);
  const [containerId = ''] = containerIds;
  const { containers, sandboxes } = runtime;
  await containers.verbs.execSync({ containerId, cmd: ['true'], timeout: 1n }, signal);
  await containers.verbs.stopContainer({ containerId, timeout: 0n }, signal);
  await containers.verbs.removeContainer({ containerId }, signal);
  await sandboxes.verbs.stopPodSandbox({ podSandboxId }, signal);
  await sandboxes.verbs.removePodSandbox({ podSandboxId }, signal);
}

async function removeAll({ sandboxes }: RuntimeProcess, isMeant: (name: string) => boolean): Promise<void> {
  const { items } = await sandboxes.verbs.listPodSandbox(ListPodSandboxRequest.create(), signal);
  for (const { id: podSandboxId, metadata } of items) {
    if (!isMeant(metadata?.name ?? '')) continue;
    await sandboxes.verbs.stopPodSandbox({ podSandboxId }, signal);
    await sandboxes.verbs.removePodSandbox({ podSandboxId }, signal);
  }
}

/** Returns processes that run without a record, and records of running processes that do not run. */
function findInconsistencies({ oci }: Machine, { sandboxes, containers }: RuntimeProcess): string[] {
  const known = [
    ...[...sandboxes.view.all.values()].filter(({ state, pause }) => pause && state.phase === 'ready'),
    ...[...containers.records.all.values()].filter(({ state }) => state.phase === 'running'),
  ].map(({ id }) => id);
  const stopping = [...sandboxes.view.all.values()]
    .filter(({ state }) => state.phase === 'notReady')
    .map(({ id }) => id);
  const running = [...oci.containers.values()].filter(({ end }) => end === undefined).map(({ id }) => id);
  const unknown = running.filter((id) => !known.includes(id) && !stopping.includes(id));
  const incomplete = [...sandboxes.view.all.values(), ...containers.records.all.values()].filter(({ state }) =>
    ['creating', 'starting'].includes(state.phase),
  );
  return [
    ...incomplete.map(({ id, state }) => `${id} is still ${state.phase}`),
    ...unknown.map((id) => `${id} runs without a record`),
    ...known.filter((id) => !running.includes(id)).map((id) => `${id} does not run`),
  ];
}

/** Ends all adopted containers: their exits must be observed. */
async function endAdopted(machine: Machine, runtime: RuntimeProcess, steady: readonly string[]): Promise<void> {
  const { oci, host } = machine;
  for (const id of oci.containers.keys()) if (!steady.includes(id)) oci.exit(id, 0);
  await host.clock.advance(0);
  assert.deepEqual(findInconsistencies(machine, runtime), []);
}

interface Kill {
  readonly kind: Kind;
  readonly call: number;
  readonly when: 'before' | 'after';
  /** Kills the next process too, at this call of its recovery. */
  readonly again?: number;
}

/** Returns `false` if the lifecycle ended before that call. */
async function surviveKill({ kind, call, when, again }: Kill): Promise<boolean> {
  const machine = await createMachine();
  const empty = await listTraces(machine);
  const first = await startRuntime(machine);
  assert.ok(first);
  const steady = await startPod(first, 'steady', 'usual');
  const before = await listTraces(machine);
  first.killer.arm(call, when);
  const isOver = await Promise.race([runLifecycle(first, kind).then(() => true), first.killer.died.then(() => false)]);
  if (isOver) return false;

  if (again !== undefined) {
    const killer = new ProcessKiller();
    killer.arm(again, when);
    const second = await startRuntime(machine, killer);
    second?.killer.kill();
  }
  const last = await startRuntime(machine);
  assert.ok(last);
  await machine.host.clock.advance(10_000); // delayed cleanups
  assert.deepEqual(findInconsistencies(machine, last), []);
  if (call % 2 === 0) await endAdopted(machine, last, steady.containerIds);
  await removeAll(last, (name) => name !== 'steady');
  assert.deepEqual((await listTraces(machine)).sort(byText), before.sort(byText));
  for (const id of steady.containerIds) assert.deepEqual(machine.oci.containers.get(id)?.signals, []);
  await removeAll(last, () => true);
  assert.deepEqual((await listTraces(machine)).sort(byText), empty.sort(byText));
  return true;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** With concurrent calls it matters whether a call is done when its answer is lost. */
async function surviveAllKills(kind: Kind, when: Kill['when'], again: (call: number) => Pick<Kill, 'again'>) {
  for (let call = 1; ; call++) {
    const kill: Kill = { kind, call, when, ...again(call) };
    try {
      if (await surviveKill(kill)) continue;
      assert.ok(call > 50, `only ${call} calls`);
      return;
    } catch (error) {
      throw new Error(JSON.stringify(kill), { cause: error });
    }
  }
}

for (const kind of ['usual', 'sharedProcesses', 'ownUsers', 'node'] as const) {
  test(`a pod (${kind}): after a kill at any call, a restart leaks nothing and loses nothing`, async () => {
    await surviveAllKills(kind, 'before', () => ({}));
  });

  test(`a pod (${kind}): after a kill after any call, and another during recovery`, async () => {
    await surviveAllKills(kind, 'after', (call) => ({ again: 1 + ((call * 7) % 40) }));
  });
}
