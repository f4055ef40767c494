/** Pulls from Debian's registry on loopback by the real runtime: open, with TLS, away, slow, with wrong digests. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { registrySkipReason, startRegistry, type TestRegistry, trustRegistry } from './registry-fixture.ts';
import { RegistryPods, runOncePod } from './registry-pods.ts';
import { type RegistryProxy, startRegistryProxy } from './registry-proxy.ts';
import { TEST_RUNTIME } from './runtime-fixture.ts';

/** The messages of the runtime. */
const TEXTS = {
  containerd: {
    away: /^failed to pull and unpack image ".*connection refused$/,
    lie: /^rpc error: code = FailedPrecondition desc = failed to pull .*: unexpected commit digest sha256:/,
  },
  containerd2: {
    away: /^failed to pull and unpack image ".*connection refused$/,
    lie: /^rpc error: code = FailedPrecondition desc = failed to pull .*: unexpected commit digest sha256:/,
  },
  embedded: {
    away: /^failed to pull image ".*ECONNREFUSED/,
    lie: /^failed to pull image ".*: has digest sha256:\S+, expected sha256:/,
  },
}[TEST_RUNTIME];

const CROWD = 50;
/** The number of pods that wait before the registry answers. */
const AT_ONCE = 10;

suite('images from a registry', { skip: registrySkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let registry: TestRegistry;
  let secure: TestRegistry;
  let pods: RegistryPods;
  const proxies: RegistryProxy[] = [];

  before(async () => {
    [it, registry, secure] = await Promise.all([
      startTestAgent({ serializeImagePulls: false }),
      startRegistry(),
      startRegistry({ tls: true }),
    ]);
    pods = new RegistryPods(it);
    trustRegistry(it.runtime.folder, registry.address);
    trustRegistry(it.runtime.folder, secure.address, secure.caFile);
  });
  after(async () => {
    for (const proxy of proxies) await proxy.stop();
    await it.stop();
    await Promise.all([registry.stop(), secure.stop()]);
  });

  const proxied = async (): Promise<RegistryProxy> => {
    const proxy = await startRegistryProxy(registry);
    proxies.push(proxy);
    trustRegistry(it.runtime.folder, proxy.address);
    return proxy;
  };

  test('an image without credentials is pulled, by tag and by digest', async () => {
    await pods.run(runOncePod('tag', await registry.push('team/open')));
    const { imageID = '' } = it.report('tag').status.containerStatuses?.[0] ?? {};
    assert.match(imageID, /@sha256:[0-9a-f]{64}$/);
    await pods.run(runOncePod('digest', imageID));
    assert.deepEqual(pods.reasons('tag').slice(0, 2), ['Pulling', 'Pulled']);
  });

  test('an image is pulled over TLS', async () => {
    await pods.run(runOncePod('secure', await secure.push('team/secure')));
  });

  test('an unreachable registry is reported and retried', async () => {
    const image = await registry.push('team/away');
    await registry.pause();
    const message = await pods.failsToPull(runOncePod('away', image));
    assert.match(message, TEXTS.away);
    await registry.resume();
    await pods.recovers('away');
    assert.ok(pods.pulls(image) >= 2);
  });

  test('a slow registry does not delay other pods', async () => {
    const proxy = await proxied();
    await registry.push('team/slow');
    const image = await registry.push('team/quick');
    proxy.stall();
    pods.add(runOncePod('slow', `${proxy.address}/team/slow:1`));
    await pods.reported(['slow'], 'Pulling');
    await pods.run(runOncePod('quick', image));
    assert.equal(it.report('slow').status.phase, 'Pending');
    const slow = pods.done('slow');
    proxy.resume();
    await slow;
  });

  test('a running container is shown while the image of another is pulled', async () => {
    const proxy = await proxied();
    await registry.push('team/late');
    proxy.stall();
    const late = { name: 'late', image: `${proxy.address}/team/late:1`, command: ['true'] };
    const up = it.next(({ kind, ...event }) => {
      if (kind !== 'status' || !('status' in event) || event.pod.metadata.name !== 'half') return false;
      return event.status.containerStatuses?.some(({ name, ready }) => name === 'up' && ready) ?? false;
    }, 'half is half up');
    pods.add(podOf('half', { hostNetwork: true, containers: [shell('up', EXITS_ON_SIGTERM), late] }));
    await up;
    assert.equal(it.report('half').status.phase, 'Pending');
    proxy.resume();
    const gone = it.gone('half');
    pods.drop('half');
    await gone;
  });

  test('content with a wrong digest is rejected', async () => {
    const proxy = await proxied();
    await registry.push('team/lie');
    proxy.lie();
    assert.match(await pods.failsToPull(runOncePod('lie', `${proxy.address}/team/lie:1`)), TEXTS.lie);
  });

  test(`${CROWD} pods of one new image cause one pull`, async () => {
    const proxy = await proxied();
    await registry.push('team/crowd');
    const image = `${proxy.address}/team/crowd:1`;
    const names = Array.from({ length: CROWD }, (_, index) => `crowd-${index}`);
    proxy.stall();
    // Each gets its image and no container: the image runs as root.
    pods.add(...names.map((name) => runOncePod(name, image, { securityContext: { runAsNonRoot: true } })));
    await pods.reported(names.slice(0, AT_ONCE), 'Pulling');
    proxy.resume();
    await pods.reported(names, 'Pulled');
    assert.equal(pods.pulls(image), 1);
    assert.equal(proxy.blobReads(), 2, 'its configuration and its layer');
  });
});
