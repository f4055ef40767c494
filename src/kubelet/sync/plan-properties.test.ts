/** Properties of every plan, and of executing plans repeatedly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Container, PodSpec } from '../../api/generated/core-v1.ts';
import type { ObservedContainer, ObservedContainerState, ObservedSandbox } from '../pod/observed-pod.ts';
import { restartsAllAfter } from '../pod/restart-rules.ts';
import { computePodActions } from './compute-pod-actions.ts';
import { containerHash } from './config/container-hash.ts';
import { observe as observed } from './plan.fixture.ts';
import { type ContainerStart, NOTHING_TO_DO, type PodPlan } from './pod-plan.ts';
import { type PodView, restartsWhenKilled } from './pod-view.ts';

const policies = ['Always', 'OnFailure', 'Never'] as const;

function container(name: string, extra: Partial<Container> = {}): Container {
  return { name, image: 'busybox', ...extra };
}

/** The restart policy of one container: unset, set, or set with a rule for exit code 42. */
const ownPolicies: fc.Arbitrary<Partial<Container>> = fc.oneof(
  fc.constant({}),
  fc.constantFrom(...policies).map((restartPolicy) => ({ restartPolicy })),
  fc
    .record({ restartPolicy: fc.constantFrom(...policies), action: fc.constantFrom('Restart', 'RestartAllContainers') })
    .map(({ restartPolicy, action }) => ({
      restartPolicy,
      restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [42] } }],
    })),
);

const specs: fc.Arbitrary<PodSpec> = fc
  .record({
    inits: fc.array(ownPolicies, { maxLength: 3 }),
    mains: fc.array(ownPolicies, { minLength: 1, maxLength: 3 }),
    ephemerals: fc.nat({ max: 2 }),
    restartPolicy: fc.constantFrom(...policies),
    hostNetwork: fc.boolean(),
  })
  .map(({ inits, mains, ephemerals, restartPolicy, hostNetwork }) => ({
    restartPolicy,
    hostNetwork,
    initContainers: inits.map((own, index) => container(`init-${index}`, own)),
    containers: mains.map((own, index) => container(`main-${index}`, own)),
    ephemeralContainers: Array.from({ length: ephemerals }, (_, index) => container(`debug-${index}`)),
  }));

const states: fc.Arbitrary<ObservedContainerState> = fc.oneof(
  fc.constant<ObservedContainerState>({ state: 'created' }),
  fc.constant<ObservedContainerState>({ state: 'running', startedAt: 1n }),
  fc.constant<ObservedContainerState>({ state: 'unknown' }),
  fc.constantFrom(0, 1, 42, 137).map((exitCode): ObservedContainerState => exited(exitCode)),
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
        minLength: 8,
        maxLength: 8,
      }),
      older: fc.array(fc.nat({ max: 7 }), { maxLength: 2 }),
      probe: fc.constantFrom('success' as const, 'failure' as const, 'unknown' as const, undefined),
    })
    .map(({ sandboxes: boxes, seen, older, probe }) => {
      const containers = new Map(
        all(spec).flatMap((each, index) => {
          const one = seen[index];
          return one ? [[each.name, observed(each, one.state, one.isCurrent ? containerHash(each) : 'other')]] : [];
        }),
      );
      const known = [...containers.values()];
      return {
        spec,
        sandboxes: boxes.map((box, index) => ({ ...box, id: `s${index}`, attempt: boxes.length - index - 1 })),
        containers,
        older: older.flatMap((at, index) => (known[at] ? [{ ...ended(known[at]), id: `older-${index}` }] : [])),
        restartsAll: hasCause(spec, containers),
        probes: { result: () => probe },
      };
    }),
);

test('a plan starts no running container without killing it, and none twice', () => {
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

test('a plan kills only containers that may run, each once', () => {
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

test('killed containers are started again if their policy allows it', () => {
  fc.assert(
    fc.property(views, (view) => {
      const plan = computePodActions(view);
      if (plan.kind !== 'adjust') return;
      const starts = new Set(plan.start.map(({ name }) => name));
      for (const { name, reason } of plan.kill) {
        const killed = all(view.spec).find((each) => each.name === name);
        const mayStay = killed !== undefined && !restartsWhenKilled(killed, view.spec);
        assert.ok(starts.has(name) || (mayStay && reason !== 'definitionChanged'), name);
      }
    }),
    { numRuns: 3000 },
  );
});

test('ephemeral containers are started once, and never killed or removed while the pod continues', () => {
  fc.assert(
    fc.property(views, (view) => {
      const plan = computePodActions(view);
      const isEphemeral = ({ name }: { readonly name: string }): boolean => name.startsWith('debug');
      if (plan.kind === 'removeAll') assert.ok(!plan.groups.flat().some(isEphemeral));
      if (plan.kind !== 'adjust') return;
      assert.ok(!plan.kill.some(isEphemeral));
      const missing = (view.spec.ephemeralContainers ?? []).filter(({ name }) => !view.containers.has(name));
      assert.deepEqual(
        plan.start.filter(isEphemeral),
        missing.map(({ name }) => ({ name, role: 'ephemeral' })),
      );
    }),
    { numRuns: 3000 },
  );
});

test('when all containers restart, every instance is removed once, the trigger last', () => {
  fc.assert(
    fc.property(views, (view) => {
      const plan = computePodActions(view);
      if (plan.kind !== 'removeAll') return assert.ok(!view.restartsAll || plan.kind === 'newSandbox');
      const removed = plan.groups.flat().map(({ id }) => id);
      const known = [...view.containers.values(), ...view.older].filter(({ name }) => !name.startsWith('debug'));
      assert.equal(removed.length, known.length);
      assert.deepEqual(new Set(removed), new Set(known.map(({ id }) => id)));
      const causes = removed.map((id) =>
        isCause(
          view.spec,
          known.find((each) => each.id === id),
        ),
      );
      assert.ok(!causes.slice(causes.indexOf(true)).includes(false));
    }),
    { numRuns: 3000 },
  );
});

test('there is nothing to do for a pod in its desired state', () => {
  const given = fc.record({ spec: specs, isForgotten: fc.boolean(), debug: states });
  fc.assert(
    fc.property(given, ({ spec, isForgotten, debug }) => {
      const runs: ObservedContainerState = { state: 'running', startedAt: 1n };
      const seen = all(spec).flatMap((each) => {
        const isInit = spec.initContainers?.includes(each) && each.restartPolicy !== 'Always';
        if (isInit && isForgotten) return [];
        const isDebug = each.name.startsWith('debug');
        return [observed(each, isInit ? exited(0) : isDebug ? debug : runs)];
      });
      const view: PodView = {
        spec,
        sandboxes: [sandbox(0, true, spec.hostNetwork ?? false, true)],
        containers: new Map(seen.map((each) => [each.name, each])),
        older: [],
        restartsAll: false,
        probes: { result: () => 'success' },
      };
      assert.deepEqual(computePodActions(view), NOTHING_TO_DO);
    }),
    { numRuns: 1000 },
  );
});

test('main containers start in spec order, after every init container has completed', () => {
  fc.assert(
    fc.property(views, (view) => {
      const starts = startsOf(computePodActions(view));
      const order = startOrder(view.spec).map(({ name }) => name);
      const places = starts.map(({ name }) => order.indexOf(name));
      assert.deepEqual(
        places,
        places.toSorted((a, b) => a - b),
      );
      if (!starts.some(({ role }) => role === 'main')) return;
      assert.ok(!starts.some(({ role }) => role === 'init'), 'not together with an init container');
      assert.ok(!view.restartsAll, 'not before all are removed');
    }),
    { numRuns: 3000 },
  );
});

test('executing plans brings every pod to rest: running as desired, or ended', () => {
  const worlds = fc.record({
    view: views,
    codes: fc.array(fc.constantFrom(0, 0, 0, 1, 42), { minLength: 6, maxLength: 6 }),
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

/** A scripted pod: main containers and sidecars keep running, init containers exit with their codes. */
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
    let { sandboxes: boxes, older } = this.view;
    if (plan.kind === 'newSandbox') {
      for (const [name, seen] of containers) containers.set(name, ended(seen));
      boxes = [sandbox(plan.attempt, true, spec.hostNetwork ?? false, true)];
    }
    if (plan.kind === 'removeAll') {
      const gone = new Set(plan.groups.flat().map(({ id }) => id));
      for (const [name, { id }] of containers) if (gone.has(id)) containers.delete(name);
      older = older.filter(({ id }) => !gone.has(id));
    }
    if (plan.kind === 'adjust') {
      for (const { name, id } of plan.kill) {
        const seen = containers.get(name);
        if (seen?.id === id) containers.set(name, ended(seen));
      }
    }
    for (const { name } of startsOf(plan)) {
      const spec_ = all(spec).find((each) => each.name === name);
      if (spec_) containers.set(name, observed(spec_, { state: 'running', startedAt: 1n }));
    }
    this.#see({ ...this.view, sandboxes: boxes, containers, older });
  }

  /** A new beginning of all is remembered until all are gone. */
  #see(view: PodView): void {
    const { spec, containers, restartsAll } = view;
    const isCleared = ![...(spec.initContainers ?? []), ...spec.containers].some(({ name }) => containers.has(name));
    this.view = { ...view, restartsAll: (restartsAll || hasCause(spec, containers)) && !isCleared };
  }

  /** A container that fails does so for some time only. */
  endInitContainers(codes: readonly number[], step: number): void {
    const containers = new Map(this.view.containers);
    for (const [index, each] of (this.view.spec.initContainers ?? []).entries()) {
      const seen = containers.get(each.name);
      if (each.restartPolicy === 'Always' || seen?.state !== 'running') continue;
      containers.set(each.name, observed(each, exited(step > 20 ? 0 : (codes[index] ?? 0))));
    }
    this.#see({ ...this.view, containers });
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
  return 'start' in plan ? plan.start : [];
}

/** Whether the exit of some container restarts all containers. */
function hasCause(spec: PodSpec, containers: ReadonlyMap<string, ObservedContainer>): boolean {
  return [...containers.values()].some((each) => isCause(spec, each));
}

function isCause(spec: PodSpec, seen: ObservedContainer | undefined): boolean {
  const container = all(spec).find(({ name }) => name === seen?.name);
  return seen?.state === 'exited' && container !== undefined && restartsAllAfter(container, seen.exitCode);
}

function all({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): Container[] {
  return [...initContainers, ...containers, ...ephemeralContainers];
}

function startOrder({ initContainers = [], containers, ephemeralContainers = [] }: PodSpec): Container[] {
  return [...ephemeralContainers, ...initContainers, ...containers];
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
