import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SubjectAccessReviewSpec } from '../../api/generated/core-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { createAuthorize, requestedAccess } from './authorize.ts';

const USER = { name: 'jane', groups: ['dev'] };
const never = new AbortController().signal;

for (const [request, verb, subresources] of [
  ['GET /pods', 'get', ['pods', 'proxy']],
  ['GET /podsand', 'get', ['proxy']],
  ['GET /runningpods/', 'get', ['pods', 'proxy']],
  ['GET /healthz/syncloop', 'get', ['healthz', 'proxy']],
  ['GET /configz', 'get', ['configz', 'proxy']],
  ['GET /metrics', 'get', ['metrics']],
  ['GET /metrics/cadvisor', 'get', ['metrics']],
  ['GET /stats/summary', 'get', ['stats']],
  ['GET /logs/', 'get', ['log']],
  ['POST /checkpoint/a/b/c', 'create', ['checkpoint']],
  ['GET /flagz', 'get', ['configz']],
  ['POST /exec/ns/pod/main', 'create', ['proxy']],
  ['GET /containerLogs/ns/pod/main', 'get', ['proxy']],
  ['PATCH /', 'patch', ['proxy']],
  ['OPTIONS /pods', '', ['pods', 'proxy']],
] as const) {
  test(`accessOf(): ${request} needs ${verb || 'no verb'} of nodes/${subresources.join(' or nodes/')}`, () => {
    const [method, path] = request.split(' ');
    assert.deepEqual(requestedAccess(method ?? '', path ?? ''), { verb, subresources });
  });
}

function setUp(allowed: (spec: SubjectAccessReviewSpec) => boolean) {
  const clock = new VirtualClock();
  const asked: (string | undefined)[] = [];
  const reviewAccess = async (spec: SubjectAccessReviewSpec) => {
    asked.push(spec.resourceAttributes?.subresource);
    return { allowed: allowed(spec) };
  };
  const deps = { nodeName: 'box', clock, deadline: () => never, reviews: { reviewAccess } };
  const settings = { mode: 'Webhook', allowedTtlMs: 300_000, refusedTtlMs: 30_000 } as const;
  return { clock, asked, authorize: createAuthorize(settings, deps) };
}

test('one subresource of several is enough', async () => {
  const { authorize, asked } = setUp(({ resourceAttributes }) => resourceAttributes?.subresource === 'proxy');
  assert.deepEqual(await authorize(USER, { verb: 'get', subresources: ['pods', 'proxy'] }), { kind: 'allowed' });
  assert.deepEqual(asked, ['pods', 'proxy']);
});

test('the review has the user, the verb and the node', async () => {
  const specs: SubjectAccessReviewSpec[] = [];
  const { authorize } = setUp((spec) => specs.push(spec) > 0);
  await authorize({ ...USER, uid: '7', extra: { scope: ['a'] } }, { verb: 'get', subresources: ['stats'] });
  assert.deepEqual(specs, [
    {
      user: 'jane',
      uid: '7',
      groups: ['dev'],
      extra: { scope: ['a'] },
      resourceAttributes: { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'stats', name: 'box' },
    },
  ]);
});

test('a yes holds for longer than a no', async () => {
  let isAllowed = false;
  const { authorize, asked, clock } = setUp(() => isAllowed);
  const ask = async () => (await authorize(USER, { verb: 'get', subresources: ['stats'] })).kind;
  assert.equal(await ask(), 'refused');
  isAllowed = true;
  await clock.advance(29_999);
  assert.equal(await ask(), 'refused');
  await clock.advance(1);
  assert.equal(await ask(), 'allowed');
  isAllowed = false;
  await clock.advance(299_999);
  assert.equal(await ask(), 'allowed');
  await clock.advance(1);
  assert.equal(await ask(), 'refused');
  assert.equal(asked.length, 3);
});

test('a failed review is reported, and not cached', async () => {
  const error = new Error('the API server is away');
  let isAway = true;
  const { authorize } = setUp(() => {
    if (isAway) throw error;
    return true;
  });
  const access = { verb: 'get', subresources: ['stats'] };
  assert.deepEqual(await authorize(USER, access), { kind: 'failed', subresource: 'stats', error });
  isAway = false;
  assert.deepEqual(await authorize(USER, access), { kind: 'allowed' });
});

test('AlwaysAllow sends no review', async () => {
  const { clock } = setUp(() => false);
  const authorize = createAuthorize({ mode: 'AlwaysAllow' }, { nodeName: 'box', clock, deadline: () => never });
  assert.deepEqual(await authorize(USER, { verb: 'get', subresources: ['stats'] }), { kind: 'allowed' });
});

test('a standalone node cannot review access', async () => {
  const settings = { mode: 'Webhook', allowedTtlMs: 1, refusedTtlMs: 1 } as const;
  const authorize = createAuthorize(settings, { nodeName: 'box', clock: new VirtualClock(), deadline: () => never });
  assert.equal((await authorize(USER, { verb: 'get', subresources: ['stats'] })).kind, 'failed');
});
