/** What is true of every plan, and of what comes of carrying plans out again and again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedContainerState, ObservedSandbox } from '../observe/observed-pod.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { containerHash } from './config/container-hash.ts';
import type { ContainerStart, PodPlan } from './pod-plan.ts';
import type { PodView } from './pod-view.ts';

const policies = ['Always', 'OnFailure', 'Never'] as const;

function container(name: string, extra: Partial<Container> = {}): Container {
  return { name, image: 'busybox', ...extra };
}

const specs: fc.Arbitrary<PodSpec> = fc
  .record({
    inits: fc.array(fc.boolean(), { maxLength: 3 }),
    mains: fc.array(fc.option(fc.constantFrom(...policies), { nil: undefined }), { minLength: 1, maxLength: 3 }),
    restartPolicy: fc.constantFrom(...policies),
    hostNetwork: fc.boolean(),
  })
  .map(({ inits, mains, restartPolicy, hostNetwork }) => ({
    restartPolicy,
    hostNetwork,
    initContainers: inits.map((isSidecar, index) =>
      container(`init-${index}`, isSidecar ? { restartPolicy: 'Always' } : {}),
    ),
    containers: mains.map((policy, index) => container(`main-${index}`, policy ? { restartPolicy: policy } : {})),
  }));

const states: fc.Arbitrary<ObservedContainerState> = fc.oneof(
  fc.constant<ObservedContainerState>({ state: 'created' }),
  fc.constant<ObservedContainerState>({ state: 'running', startedAt: 1n }),
  fc.constant<ObservedContainerState>({ state: 'unknown' }),
  fc.constantFrom(0, 1, 137).map((exitCode): ObservedContainerState => exited(exitCode)),
);

const sandboxes: fc.Arbitrary<ObservedSandbox[]> = fc.array(
  fc
    .record({ ready: fc.boolean(), hostNetwork: fc.boolean(), hasAddress: fc.boolean() })
    .map(({ ready, hostNetwork, hasAddress }) => sandbox(0, ready, hostNetwork, hasAddress)),
  { maxLength: 2 },
);

const views: fc.Arbitrary<PodView> = specs.chain((spec) =>
  fc
    .record({
      sandboxes,
      seen: fc.array(fc.option(fc.record({ state: states, isCurrent: fc.boolean() }), { nil: undefined }), {
        minLength: 6,
        maxLength: 6,
      }),
      probe: fc.constantFrom('success' as const, 'failure' as const, 'unknown' as const, undefined),
    })
    .map(({ sandboxes: boxes, seen, probe }) => ({
      spec,
      sandboxes: boxes.map((box, index) => ({ ...box, id: `s${index}`, attempt: boxes.length - index - 1 })),
      containers: new Map(
        all(spec).flatMap((each, index) => {
          const one = seen[index];
          return one ? [[each.name, observed(each, one.state, one.isCurrent ? containerHash(each) : 'other')]] : [];
        }),
      ),
      probes: { result: () => probe },
    })),
);

test('a plan starts nothing that runs and is not killed first, and nothing twice', () => {
  fc.assert(
    fc.property(views, (view) => {
      const plan = computePodActions(view);
      const kills = new Set(plan.kind === 'adjust' ? plan.kill.map(({ id }) => id) : []);
      const names = startsOf(plan).map(({ name }) => name);
      assert.equal(new Set(names).size, names.length);
      if (plan.kind !== 'adjust') return; // the others stop everything first
      for (const name of names) {
        const seen = view.containers.get(name);
        if (seen?.state === 'running' || seen?.state === 'unknown') assert.ok(kills.has(seen.id), name);
      }
    }),
    { numRuns: 3000 },
  );
});

test('a plan kills only what may run, each once', () => {
  fc.assert(
    fc.property(views, (view) => {
      const plan = computePodActions(view);
      if (plan.kind !== 'adjust') return;
      const live = [...view.containers.values()].filter(({ state }) => state === 'running' || state === 'unknown');
      const kills = plan.kill.map(({ id }) => id);
      assert.equal(new Set(kills).size, kills.length);
      for (const id of kills) assert.ok(live.some((each) => each.id === id));
    }),
    { numRuns: 3000 },
  );
});

test('main containers start only when every init container is through, and in the order of the spec', () => {
  fc.assert(
    fc.property(views, (view) => {
      const starts = startsOf(computePodActions(view));
      const order = all(view.spec).map(({ name }) => name);
      const places = starts.map(({ name }) => order.indexOf(name));
      assert.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
      );
      if (!starts.some(({ role }) => role === 'main')) return;
      assert.ok(!starts.some(({ role }) => role === 'init'), 'not together with an init container');
    }),
    { numRuns: 3000 },
  );
});

test('carrying plans out leads every pod to rest: as it should be, or ended', () => {
  const worlds = fc.record({
    view: views,
    codes: fc.array(fc.constantFrom(0, 0, 0, 1), { minLength: 6, maxLength: 6 }),
  });
  fc.assert(
    fc.property(worlds, ({ view, codes }) => {
      const model = new Model({ ...view, probes: { result: () => 'success' } });
      for (let step = 0; step < 60; step++) {
        const plan = computePodActions(model.view);
        if (plan.kind === 'end') return;
        if (model.isAtRest(plan)) return model.check();
        model.carryOut(plan);
        model.endInitContainers(codes, step);
      }
      assert.fail(`no rest after 60 plans: ${JSON.stringify(model.view.spec)}`);
    }),
    { numRuns: 2000 },
  );
});

/** A pod whose containers do as they are told: main ones and sidecars run on, init containers end with their codes. */
class Model {
  view: PodView;

  constructor(view: PodView) {
    this.view = view;
  }

  isAtRest(plan: PodPlan): boolean {
    const waits = (this.view.spec.initContainers ?? []).some(
      (each) => each.restartPolicy !== 'Always' && this.view.containers.get(each.name)?.state === 'running',
    );
    return plan.kind === 'adjust' && plan.kill.length + plan.start.length === 0 && !waits;
  }

  carryOut(plan: PodPlan): void {
    const { spec } = this.view;
    const containers = new Map(this.view.containers);
    let boxes = this.view.sandboxes;
    if (plan.kind === 'newSandbox') {
      for (const [name, seen] of containers) containers.set(name, ended(seen));
      boxes = [sandbox(plan.attempt, true, spec.hostNetwork ?? false, true)];
    }
    if (plan.kind === 'adjust') {
      for (const { name, id } of plan.kill) {
        const seen = containers.get(name);
        if (seen?.id === id) containers.set(name, ended(seen));
      }
    }
    for (const { name } of startsOf(plan)) {
      const spec_ = all(spec).find((each) => each.name === name);
      if (spec_) containers.set(name, observed(spec_, { state: 'running', startedAt: 1n }, containerHash(spec_)));
    }
    this.view = { ...this.view, sandboxes: boxes, containers };
  }

  /** A container that fails does so for some time only. */
  endInitContainers(codes: readonly number[], step: number): void {
    const containers = new Map(this.view.containers);
    for (const [index, each] of (this.view.spec.initContainers ?? []).entries()) {
      const seen = containers.get(each.name);
      if (each.restartPolicy === 'Always' || seen?.state !== 'running') continue;
      containers.set(each.name, observed(each, exited(step > 20 ? 0 : (codes[index] ?? 0)), containerHash(each)));
    }
    this.view = { ...this.view, containers };
  }

  check(): void {
    const { spec, containers, sandboxes: boxes } = this.view;
    assert.equal(boxes.filter(({ ready }) => ready).length, 1);
    for (const each of [...(spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always')]) {
      assert.equal(containers.get(each.name)?.state, 'running', each.name);
    }
    assert.ok(
      spec.containers.some(({ name }) => containers.get(name)?.state === 'running'),
      'a pod without a running container has ended',
    );
  }
}

function startsOf(plan: PodPlan): readonly ContainerStart[] {
  return plan.kind === 'end' ? [] : plan.start;
}

function all({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

function exited(exitCode: number): ObservedContainerState {
  return { state: 'exited', startedAt: 1n, finishedAt: 2n, exitCode, reason: 'Error', message: '' };
}

function ended(seen: ObservedContainer): ObservedContainer {
  return seen.state === 'exited' ? seen : { ...seen, ...exited(137) };
}

function sandbox(attempt: number, ready: boolean, hostNetwork: boolean, hasAddress: boolean): ObservedSandbox {
  const ips = hasAddress && !hostNetwork ? ['10.0.0.2'] : [];
  return { id: `s${attempt}`, attempt, ready, createdAt: 1n, hostNetwork, ips, runtimeHandler: '' };
}

function observed({ name }: Container, state: ObservedContainerState, hash: string): ObservedContainer {
  return {
    id: `id-${name}`,
    name,
    sandboxId: 's0',
    restartCount: 0,
    hash,
    image: 'busybox',
    imageRef: '',
    imageId: '',
    createdAt: 1n,
    logPath: '',
    terminationMessagePath: '',
    terminationMessagePolicy: 'File',
    terminationGracePeriodSeconds: 30,
    terminationMessageFile: undefined,
    ...state,
  };
}
