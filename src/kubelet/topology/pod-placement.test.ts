import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, Pod } from '../../api/generated/core-v1.ts';
import { FileSystemError } from '../../host/file-system.ts';
import { PodRejectedError } from '../pod/pod-rejected-error.ts';
import { AllocationError, type HintProvider, type TopologyHint } from './hint-provider.ts';
import { numaMask } from './numa-mask.ts';
import { PodPlacement } from './pod-placement.ts';
import type { TopologyPolicyName, TopologyScope } from './topology-options.ts';
import { topologyPolicy } from './topology-policy.ts';

const FOREVER = new AbortController().signal;
const NODES = [0, 1].map((id) => ({ id, memoryBytes: 0, hugePages: new Map(), distances: [10, 20] }));
const NODE_1: readonly TopologyHint[] = [{ affinity: numaMask([1]), preferred: true }];

interface Script {
  readonly hints?: readonly TopologyHint[] | undefined;
  readonly error?: (pod: Pod, container: Container) => Error | undefined;
  readonly settle?: (pod: Pod) => Promise<void>;
  readonly more?: Partial<HintProvider>;
}

/** A provider that records its calls. */
function provider(name: string, calls: string[], { hints, error, settle, more }: Script = {}): HintProvider {
  const given = new Map([[name, hints]]);
  return {
    containerHints: () => given,
    podHints: () => given,
    async allocate(pod, container, { affinity, preferred }) {
      calls.push(`${name} ${pod.metadata.uid}/${container.name} ${affinity ?? '*'}${preferred ? '+' : ''}`);
      await Promise.resolve();
      const failure = error?.(pod, container);
      if (failure) throw failure;
    },
    async release(uid) {
      calls.push(`${name} release ${uid}`);
    },
    ...(settle && { settle }),
    ...more,
  };
}

function placementOf(
  providers: readonly HintProvider[],
  policy: TopologyPolicyName = 'none',
  scope: TopologyScope = 'container',
): PodPlacement {
  return new PodPlacement({
    clock: { monotonic: () => 0 },
    providers,
    scope,
    policy: topologyPolicy({ policy, options: {} }, { numaNodes: NODES }),
  });
}

function podOf(uid: string): Pod {
  return {
    metadata: { uid, name: uid, namespace: 'default' },
    spec: { initContainers: [{ name: 'init' }], containers: [{ name: 'main' }] },
  };
}

for (const scope of ['container', 'pod'] as const) {
  test(`prepare() assigns resources to each container, provider by provider: scope ${scope}`, async () => {
    const calls: string[] = [];
    const placement = placementOf([provider('a', calls), provider('b', calls, { hints: NODE_1 })], 'restricted', scope);
    await placement.prepare(podOf('x'), FOREVER);
    assert.deepEqual(calls, ['a x/init 2+', 'b x/init 2+', 'a x/main 2+', 'b x/main 2+']);
    assert.deepEqual(placement.affinity('x', 'main'), NODE_1[0]);
    assert.deepEqual(placement.affinity('y', 'main'), { affinity: undefined, preferred: false });
  });
}

test('prepare() places a pod once', async () => {
  const calls: string[] = [];
  const placement = placementOf([provider('a', calls)]);
  await placement.prepare(podOf('x'), FOREVER);
  await placement.prepare({ ...podOf('x') }, FOREVER);
  assert.equal(calls.length, 2);
  await placement.release(podOf('x'), FOREVER);
  await placement.prepare(podOf('x'), FOREVER);
  assert.deepEqual(calls.slice(2), ['a release x', 'a x/init *', 'a x/main *']);
});

test('pods are placed one after the other, in the order in which they arrive', async () => {
  const calls: string[] = [];
  const placement = placementOf([provider('a', calls)]);
  await Promise.all(['x', 'y', 'z'].map((uid) => placement.prepare(podOf(uid), FOREVER)));
  assert.deepEqual(
    calls,
    ['x', 'y', 'z'].flatMap((uid) => [`a ${uid}/init *`, `a ${uid}/main *`]),
  );
});

test('pods that concern no provider do not wait for others', async () => {
  const calls: string[] = [];
  const { promise: never } = Promise.withResolvers<void>();
  const more = { concerns: ({ metadata }: Pod) => metadata.uid === 'x', allocate: () => never };
  const placement = placementOf([provider('a', calls, { more })]);
  void placement.prepare(podOf('x'), FOREVER);
  await placement.prepare(podOf('y'), FOREVER);
  assert.deepEqual(calls, []);
});

test('calls that take long do not hold up other pods', async () => {
  const calls: string[] = [];
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const settle = async ({ metadata }: Pod): Promise<void> => {
    if (metadata.uid === 'x') await answered;
    calls.push(`settled ${metadata.uid}`);
  };
  const placement = placementOf([provider('a', calls, { settle })]);
  const first = placement.prepare(podOf('x'), FOREVER);
  await placement.prepare(podOf('y'), FOREVER);
  answer();
  await first;
  assert.deepEqual(
    calls.filter((call) => call.startsWith('settled')),
    ['settled y', 'settled x'],
  );
});

const failures: Record<string, { error: Error; reason: string; message: string }> = {
  'an error with its own reason': {
    error: new AllocationError(
      'SMTAlignmentError',
      'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
    ),
    reason: 'SMTAlignmentError',
    message: 'SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2',
  },
  'any other error': {
    error: new Error('no devices'),
    reason: 'UnexpectedAdmissionError',
    message: 'Allocate failed due to no devices, which is unexpected',
  },
};

for (const [name, { error, reason, message }] of Object.entries(failures)) {
  for (const at of ['allocate', 'settle'] as const) {
    test(`a pod is rejected after ${name} of ${at}, and gives back what it has`, async () => {
      const calls: string[] = [];
      const script = at === 'allocate' ? { error: () => error } : { settle: () => Promise.reject(error) };
      const placement = placementOf([provider('a', calls), provider('b', calls, script)]);
      await assert.rejects(placement.prepare(podOf('x'), FOREVER), (found) => {
        assert.ok(found instanceof PodRejectedError);
        assert.deepEqual([found.reason, found.message], [reason, message]);
        return true;
      });
      calls.length = 0;
      await placement.release(podOf('x'), FOREVER);
      assert.deepEqual(calls, ['a release x', 'b release x']);
    });
  }
}

test('a pod is rejected if the hints of its resources do not fit', async () => {
  const calls: string[] = [];
  const placement = placementOf([provider('a', calls, { hints: [] })], 'restricted');
  await assert.rejects(placement.prepare(podOf('x'), FOREVER), {
    name: 'PodRejectedError',
    reason: 'TopologyAffinityError',
    message: 'Resources cannot be allocated with Topology locality',
  });
  assert.deepEqual(calls, []);
});

test('a pod is not rejected because its checkpoint cannot be written', async () => {
  const calls: string[] = [];
  let isFull = true;
  const error = (): Error | undefined => (isFull ? new FileSystemError('ENOSPC', 'write', '/state') : undefined);
  const placement = placementOf([provider('a', calls, { error })]);
  await assert.rejects(placement.prepare(podOf('x'), FOREVER), { name: 'FileSystemError' });
  isFull = false;
  await placement.prepare(podOf('x'), FOREVER);
});

test('removeStale() gives back what pods have that are neither known nor placed', async () => {
  const calls: string[] = [];
  const more = { assignedUids: () => ['gone', 'known', 'placed'] };
  const placement = placementOf([provider('a', calls, { more }), provider('b', calls)]);
  await placement.prepare(podOf('placed'), FOREVER);
  calls.length = 0;
  await placement.removeStale(new Set(['known']), FOREVER);
  assert.deepEqual(calls, ['a release gone', 'b release gone']);
});
