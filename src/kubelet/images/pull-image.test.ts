import assert from 'node:assert/strict';
import test from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { type AuthConfig, Image } from '../../cri/generated/runtime-v1.ts';
import type { PodError } from '../pod/pod-error.ts';
import { accountLogin, ImageRuntime, secretLogin } from './fake/image-runtime.ts';

const IMAGE = 'registry.io/app:1';
const PRELOADED = { kind: 'NeverVerifyPreloadedImages' } as const;

/** Accepts only these users. */
function only(...users: string[]) {
  return (auth: AuthConfig | undefined): void => {
    if (users.includes(auth?.username ?? '')) return;
    throw new CriError('Unknown', `401 Unauthorized for ${auth?.username ?? 'anonymous'}`, { method: 'PullImage' });
  };
}

function privateRuntime(...users: string[]): ImageRuntime {
  const runtime = new ImageRuntime({ policy: PRELOADED });
  runtime.allows = only(...users);
  return runtime;
}

test('pullImage() tries one credential after the other', async () => {
  const runtime = privateRuntime('good');
  const outcome = await runtime.ensure(IMAGE, 'IfNotPresent', 'u1', [
    secretLogin('a', 'bad'),
    secretLogin('b', 'good'),
  ]);
  assert.ok('ref' in outcome);
  runtime.tried('bad', 'good');
});

test('pullImage() reports the errors of all credentials together, each text once', async () => {
  const runtime = privateRuntime();
  const secrets = [secretLogin('a', 'one'), secretLogin('b', 'two'), secretLogin('c', 'one')];
  assert.deepEqual(await runtime.ensure(IMAGE, 'IfNotPresent', 'u1', secrets), {
    reason: 'ErrImagePull',
    message: '[401 Unauthorized for one, 401 Unauthorized for two]',
    retryAfterMs: 10_000,
    silent: false,
  });
  assert.deepEqual(runtime.events, [
    `Normal Pulling Pulling image "${IMAGE}"`,
    `Warning Failed Failed to pull image "${IMAGE}": [401 Unauthorized for one, 401 Unauthorized for two]`,
    'Warning Failed Error: ErrImagePull',
  ]);
});

test('pullImage() pulls without credentials if there are none', async () => {
  const runtime = privateRuntime();
  const { message } = (await runtime.ensure(IMAGE, 'Always')) as { message: string };
  assert.equal(message, '401 Unauthorized for anonymous');
  runtime.tried(undefined);
});

test('pullImage() shares a pull among pods with the same login, not with others', async () => {
  const runtime = privateRuntime('good', 'other');
  const outcomes = [
    runtime.ask(IMAGE, 'IfNotPresent', 'u1', [secretLogin('a', 'good')]),
    runtime.ask(IMAGE, 'IfNotPresent', 'u2', [secretLogin('copy', 'good', 'elsewhere')]),
    runtime.ask(IMAGE, 'IfNotPresent', 'u3', [secretLogin('b', 'other')]),
  ];
  await runtime.clock.advance(10_000);
  await Promise.all(outcomes);
  runtime.tried('good', 'other');
  const evidence = await runtime.deps.verification?.records.evidence(IMAGE, `id of ${IMAGE}`);
  assert.ok(evidence?.kind === 'pulled');
  const { kubernetesSecrets = [] } = evidence.record.credentialMapping?.['registry.io/app'] ?? {};
  assert.deepEqual(
    kubernetesSecrets.map(({ namespace, name }) => `${namespace}/${name}`),
    ['default/a', 'default/b', 'elsewhere/copy'],
  );
});

test('a pod without the Secret may not use an image that was pulled with it', async () => {
  const runtime = privateRuntime('good');
  await runtime.ensure(IMAGE, 'IfNotPresent', 'u1', [secretLogin('a', 'good')]);
  runtime.tried('good');
  runtime.events.length = 0;
  const { reason, message } = (await runtime.ensure(IMAGE, 'IfNotPresent', 'u2')) as PodError;
  assert.deepEqual([reason, message], ['ErrImagePull', '401 Unauthorized for anonymous']);
  runtime.tried(undefined);

  const again = await runtime.ensure(IMAGE, 'IfNotPresent', 'u3', [secretLogin('a', 'good')]);
  assert.ok('ref' in again);
  runtime.tried();
  assert.equal(
    runtime.events.at(-1),
    `Normal Pulled Container image "${IMAGE}" already present on machine and can be accessed by the pod`,
  );
});

test('a pod of another service account may not use an image that was pulled for one', async () => {
  const runtime = privateRuntime('good');
  await runtime.ensure(IMAGE, 'IfNotPresent', 'u1', [accountLogin('builder', 'good')]);
  runtime.tried('good');
  await runtime.ensure(IMAGE, 'IfNotPresent', 'u2', [accountLogin('builder', 'renewed')]);
  runtime.tried();
  for (const other of [accountLogin('stranger', 'bad'), accountLogin('builder', 'bad', 'new uid')]) {
    const { reason } = (await runtime.ensure(IMAGE, 'IfNotPresent', 'u3', [other])) as PodError;
    assert.equal(reason, 'ErrImagePull');
    runtime.tried('bad');
    await runtime.clock.advance(60_000);
  }
});

test('pods of several service accounts with the same login share a pull, and each may use the image afterwards', async () => {
  const runtime = privateRuntime('good');
  const outcomes = ['builder', 'runner'].map((name) =>
    runtime.ask(IMAGE, 'IfNotPresent', name, [accountLogin(name, 'good')]),
  );
  await runtime.clock.advance(10_000);
  await Promise.all(outcomes);
  runtime.tried('good');
  const evidence = await runtime.deps.verification?.records.evidence(IMAGE, `id of ${IMAGE}`);
  assert.ok(evidence?.kind === 'pulled');
  const kubernetesServiceAccounts = ['builder', 'runner'].map((name) => ({
    uid: `uid of ${name}`,
    namespace: 'default',
    name,
  }));
  assert.deepEqual(evidence.record.credentialMapping, { 'registry.io/app': { kubernetesServiceAccounts } });
});

test('a pod that may not use an image does not learn that it is present', async () => {
  const runtime = privateRuntime('good');
  await runtime.ensure(IMAGE, 'IfNotPresent', 'u1', [secretLogin('a', 'good')]);
  runtime.events.length = 0;
  const { reason } = (await runtime.ensure(IMAGE, 'Never', 'u2')) as { reason: string };
  assert.equal(reason, 'ErrImageNeverPull');
  assert.deepEqual(runtime.events, [
    `Warning ErrImageNeverPull Container image "${IMAGE}" is not present with pull policy of Never`,
    'Warning Failed Error: ErrImageNeverPull',
  ]);
});

test('an image that was pulled without credentials is accessible to every pod', async () => {
  const runtime = new ImageRuntime({ policy: PRELOADED });
  await runtime.ensure(IMAGE, 'IfNotPresent', 'u1');
  await runtime.ensure(IMAGE, 'IfNotPresent', 'u2', [secretLogin('a', 'some')]);
  runtime.tried(undefined);
});

test('a preloaded image is accessible to every pod, unless the policy says otherwise', async () => {
  for (const [policy, pulls] of [
    [PRELOADED, 0],
    [{ kind: 'AlwaysVerify' }, 1],
  ] as const) {
    const runtime = new ImageRuntime({ policy });
    runtime.present.set(IMAGE, Image.fromPartial({ id: 'sha256:1', size: 1n }));
    await runtime.ensure(IMAGE, 'IfNotPresent');
    assert.equal(runtime.pulled.length, pulls);
  }
});

test('pullImage() leaves no intent after a failed pull', async () => {
  const runtime = privateRuntime();
  await runtime.ensure(IMAGE, 'IfNotPresent');
  assert.deepEqual(await runtime.host.fs.readDirectory('/kubelet/image_manager/pulling'), []);
});

test('pullImage() records each name under which an image is being pulled', async () => {
  const runtime = new ImageRuntime({ policy: PRELOADED, serializeImagePulls: false });
  const outcomes = [runtime.ask('app', 'IfNotPresent', 'u1'), runtime.ask('app:latest', 'IfNotPresent', 'u2')];
  await runtime.clock.advance(1000);
  assert.equal((await runtime.host.fs.readDirectory('/kubelet/image_manager/pulling')).length, 2);
  await runtime.clock.advance(5000);
  await Promise.all(outcomes);
});

test('pullImage() does not pull if the intent cannot be written', async () => {
  const runtime = new ImageRuntime({ policy: PRELOADED });
  runtime.host.fs.errors.failNext('writeAtomic', 'ENOSPC');
  const { reason, message } = (await runtime.ensure(IMAGE, 'IfNotPresent')) as PodError;
  assert.equal(reason, 'ErrImagePull');
  assert.match(
    message,
    /^Failed to record image pull intent for container image "registry.io\/app:1": failed to record image pull intent: .*ENOSPC/,
  );
  runtime.tried();
});

test('pullImage() reports a runtime that returns no reference', async () => {
  const runtime = new ImageRuntime();
  runtime.refOf = () => '';
  const { message } = (await runtime.ensure(IMAGE, 'Always')) as PodError;
  assert.equal(message, `imageRef of image "${IMAGE}" is not set`);
});
