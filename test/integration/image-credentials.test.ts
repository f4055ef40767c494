/** Private images: Debian's registry with a password, the real runtime. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import type { Secret } from '../../src/api/generated/core-v1.ts';
import { SETTINGS } from '../agent/memory-agent.ts';
import { startTestAgent, type TestAgent } from './agent-fixture.ts';
import { LOGIN, registrySkipReason, startRegistry, type TestRegistry, trustRegistry } from './registry-fixture.ts';
import { RegistryPods, runOncePod } from './registry-pods.ts';
import { TEST_RUNTIME } from './runtime-fixture.ts';

/** The messages of the runtime. */
const REFUSED = {
  containerd: /^failed to pull and unpack image ".*: 401 Unauthorized$/,
  containerd2:
    /^failed to pull and unpack image ".*: pull access denied, .*: authorization failed: no basic auth credentials$/,
  embedded:
    /^failed to pull image ".*: status 401: UNAUTHORIZED: authentication required \(requested with(out a| the) login( of \w+)?\)$/,
}[TEST_RUNTIME];

function withSecrets(...names: string[]) {
  return { imagePullSecrets: names.map((name) => ({ name })) };
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A program that returns the credentials, and logs each call. */
function providerScript(address: string, folder: string): string {
  const response = {
    kind: 'CredentialProviderResponse',
    apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
    cacheKeyType: 'Registry',
    auth: { [address]: LOGIN },
  };
  return `#!/bin/sh\n{ cat; echo "$1 $KIND"; } >> ${folder}/asked\necho '${JSON.stringify(response)}'\n`;
}

suite('images that want credentials', { skip: registrySkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let registry: TestRegistry;
  let provided: TestRegistry;
  let folder = '';
  let pods: RegistryPods;
  const secrets = new Map<string, Secret>();

  before(async () => {
    const asksForLogin = true;
    [registry, provided] = await Promise.all([startRegistry({ asksForLogin }), startRegistry({ asksForLogin })]);
    folder = mkdtempSync(join(tmpdir(), 'nodelet-provider-'));
    writeFileSync(join(folder, 'give'), providerScript(provided.address, folder), { mode: 0o755 });
    const provider = {
      name: 'give',
      matchImages: [provided.address],
      defaultCacheDuration: '1h',
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      args: ['away'],
      env: [{ name: 'KIND', value: 'for free' }],
    };
    const config = { apiVersion: 'kubelet.config.k8s.io/v1', kind: 'CredentialProviderConfig', providers: [provider] };
    writeFileSync(join(folder, 'config.json'), JSON.stringify(config));
    const providers = { config: join(folder, 'config.json'), binDir: folder };
    it = await startTestAgent({ serializeImagePulls: false, imagePulls: { ...SETTINGS.imagePulls, providers } });
    pods = new RegistryPods(it);
    for (const { address } of [registry, provided]) trustRegistry(it.runtime.folder, address);
  });
  after(async () => {
    await it.stop();
    await Promise.all([registry.stop(), provided.stop()]);
    rmSync(folder, { recursive: true });
  });

  const addSecret = (name: string, password: string, isOld = false): void => {
    const auths = { [registry.address]: { auth: base64(`${LOGIN.username}:${password}`) } };
    const [type, key, content] = isOld
      ? ['kubernetes.io/dockercfg', '.dockercfg', auths]
      : ['kubernetes.io/dockerconfigjson', '.dockerconfigjson', { auths }];
    const metadata = { name, namespace: 'default', uid: `uid-${name}` };
    secrets.set(name, { metadata, type, data: { [key]: base64(JSON.stringify(content)) } });
    it.source.setObjects({ secrets: [...secrets.values()] });
  };

  test('are rejected without a secret, with a reason, and pulled once the secret exists', async () => {
    const image = await registry.push('team/late');
    assert.match(await pods.failsToPull(runOncePod('late', image, withSecrets('late'))), REFUSED);
    const event = it.report('late').events.find(({ reason }) => reason === 'FailedToRetrieveImagePullSecret');
    assert.equal(
      event?.message,
      'Unable to retrieve some image pull secrets (late); attempting to pull the image may not succeed.',
    );
    addSecret('late', LOGIN.password);
    await pods.recovers('late');
  });

  test('are pulled with the valid one of several secrets', async () => {
    addSecret('wrong', 'forgotten');
    addSecret('old', LOGIN.password, true);
    const image = await registry.push('team/several');
    await pods.run(runOncePod('several', image, withSecrets('wrong', 'old')));
    assert.equal(pods.pulls(image), 2);
  });

  test('are not available to pods that cannot prove access', async () => {
    const image = await registry.push('team/private');
    await pods.run(runOncePod('owner', image, withSecrets('old')));
    assert.match(await pods.failsToPull(runOncePod('guest', image)), REFUSED);
    pods.drop('guest');
    const before = pods.pulls(image);
    addSecret('copy', LOGIN.password);
    await pods.run(runOncePod('friend', image, withSecrets('copy')));
    assert.deepEqual([before, pods.pulls(image)], [2, 2], 'the same login needs no other pull');
  });

  test('are pulled with the credentials of a provider', async () => {
    const images = [await provided.push('team/one'), await provided.push('team/two')];
    for (const [index, image] of images.entries()) await pods.run(runOncePod(`provided-${index}`, image));
    const request = {
      kind: 'CredentialProviderRequest',
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      image: `${provided.address}/team/one`,
    };
    assert.equal(readFileSync(join(folder, 'asked'), 'utf8'), `${JSON.stringify(request)}\naway for free\n`);
  });
});
