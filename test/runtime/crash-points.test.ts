/** The runtime is killed at every single call that it makes to the machine during the life of a pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CreateContainerRequest, ListPodSandboxRequest } from '../../src/cri/generated/runtime-v1.ts';
import { IMAGE } from '../../src/runtime/container/fake/container-world.ts';
import { NAMESPACES, podConfig } from '../../src/runtime/sandbox/fake/sandbox-world.ts';
import { createMachine, type Life, type Machine, openLife, tracesOn } from './crash-world.ts';
import { Doom } from './doom.ts';

type Kind = keyof typeof NAMESPACES;

const signal = new AbortController().signal;

function podOf(name: string, kind: Kind) {
  return podConfig({
    metadata: { name, namespace: 'default', uid: `uid-${name}`, attempt: 0 },
    logDirectory: `/logs/${name}`,
    linux: { securityContext: { namespaceOptions: NAMESPACES[kind] } },
  });
}

async function startPod({ sandboxes, containers }: Life, name: string, kind: Kind) {
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

/** From its first call to its last. */
async function wholeLife(life: Life, kind: Kind): Promise<void> {
  const { podSandboxId, containerIds } = await startPod(life, 'passing', kind);
  const [containerId = ''] = containerIds;
  const { containers, sandboxes } = life;
  await containers.verbs.execSync({ containerId, cmd: ['true'], timeout: 1n }, signal);
  await containers.verbs.stopContainer({ containerId, timeout: 0n }, signal);
  await containers.verbs.removeContainer({ containerId }, signal);
  await sandboxes.verbs.stopPodSandbox({ podSandboxId }, signal);
  await sandboxes.verbs.removePodSandbox({ podSandboxId }, signal);
}

async function removeAll({ sandboxes }: Life, isMeant: (name: string) => boolean): Promise<void> {
  const { items } = await sandboxes.verbs.listPodSandbox(ListPodSandboxRequest.create(), signal);
  for (const { id: podSandboxId, metadata } of items) {
    if (!isMeant(metadata?.name ?? '')) continue;
    await sandboxes.verbs.stopPodSandbox({ podSandboxId }, signal);
    await sandboxes.verbs.removePodSandbox({ podSandboxId }, signal);
  }
}

/** What runs and nobody knows of, or what somebody believes to run and does not. */
function notAdopted({ oci }: Machine, { sandboxes, containers }: Life): string[] {
  const known = [
    ...[...sandboxes.view.all.values()].filter(({ state, pause }) => pause && state.phase === 'ready'),
    ...[...containers.records.all.values()].filter(({ state }) => state.phase === 'running'),
  ].map(({ id }) => id);
  const stopping = [...sandboxes.view.all.values()].filter(({ state }) => state.phase === 'notReady').map(({ id }) => id);
  const running = [...oci.containers.values()].filter(({ end }) => end === undefined).map(({ id }) => id);
  const strange = running.filter((id) => !known.includes(id) && !stopping.includes(id));
  const halfMade = [...sandboxes.view.all.values(), ...containers.records.all.values()].filter(({ state }) =>
    ['creating', 'starting'].includes(state.phase),
  );
  return [
    ...halfMade.map(({ id, state }) => `${id} is still ${state.phase}`),
    ...strange.map((id) => `${id} runs, and nobody knows it`),
    ...known.filter((id) => !running.includes(id)).map((id) => `${id} does not run`),
  ];
}

/** All that was adopted ends by itself: somebody must see it. */
async function endAdopted(machine: Machine, life: Life, steady: readonly string[]): Promise<void> {
  const { oci, host } = machine;
  for (const id of oci.containers.keys()) if (!steady.includes(id)) oci.exit(id, 0);
  await host.clock.advance(0);
  assert.deepEqual(notAdopted(machine, life), []);
}

interface Death {
  readonly kind: Kind;
  readonly call: number;
  readonly when: 'before' | 'after';
  /** The next life dies, too, at this call of putting things right. */
  readonly again?: number;
}

/** `false`: the pod's life is over before that call. */
async function surviveDeath({ kind, call, when, again }: Death): Promise<boolean> {
  const machine = await createMachine();
  const empty = await tracesOn(machine);
  const first = await openLife(machine);
  assert.ok(first);
  const steady = await startPod(first, 'steady', 'usual');
  const before = await tracesOn(machine);
  first.doom.arm(call, when);
  const isOver = await Promise.race([wholeLife(first, kind).then(() => true), first.doom.died.then(() => false)]);
  if (isOver) return false;

  if (again !== undefined) {
    const doom = new Doom();
    doom.arm(again, when);
    const second = await openLife(machine, doom);
    second?.doom.kill();
  }
  const last = await openLife(machine);
  assert.ok(last);
  await machine.host.clock.advance(10_000); // what is left for later
  assert.deepEqual(notAdopted(machine, last), []);
  if (call % 2 === 0) await endAdopted(machine, last, steady.containerIds);
  await removeAll(last, (name) => name !== 'steady');
  assert.deepEqual((await tracesOn(machine)).sort(byText), before.sort(byText));
  for (const id of steady.containerIds) assert.deepEqual(machine.oci.containers.get(id)?.signals, []);
  await removeAll(last, () => true);
  assert.deepEqual((await tracesOn(machine)).sort(byText), empty.sort(byText));
  return true;
}

function byText(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Where calls go on side by side it matters whether one is done when its answer is lost. */
async function surviveAll(kind: Kind, when: Death['when'], again: (call: number) => Pick<Death, 'again'>) {
  for (let call = 1; ; call++) {
    const death: Death = { kind, call, when, ...again(call) };
    try {
      if (await surviveDeath(death)) continue;
      assert.ok(call > 50, `only ${call} calls`);
      return;
    } catch (error) {
      throw new Error(JSON.stringify(death), { cause: error });
    }
  }
}

for (const kind of ['usual', 'sharedProcesses', 'ownUsers', 'node'] as const) {
  test(`a pod (${kind}): killed at any call of its life, a restart leaves nothing and loses nothing`, async () => {
    await surviveAll(kind, 'before', () => ({}));
  });

  test(`a pod (${kind}): killed after any call of its life, and again while that is put right`, async () => {
    await surviveAll(kind, 'after', (call) => ({ again: 1 + ((call * 7) % 40) }));
  });
}
