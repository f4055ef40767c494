/** Image volumes on the real runtime, with images of Debian's registry on loopback. */
import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Container, Pod, VolumeMount } from '../../src/api/generated/core-v1.ts';
import { BUSYBOX_IMAGE } from '../../src/app/images/local-images.ts';
import { silentLog } from '../../src/base/log.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { ImageSpec } from '../../src/cri/generated/runtime-v1.ts';
import { createLinuxHost } from '../../src/host/linux/linux-host.ts';
import { ImageCollector } from '../../src/kubelet/gc/image-collector.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { accessContainers, type ContainerAccess } from './container-access.ts';
import { registrySkipReason, startRegistry, type TestRegistry, trustRegistry } from './registry-fixture.ts';
import { NOT_ON_CONTAINERD, ONLY_ON_CONTAINERD, TEST_RUNTIME } from './runtime-fixture.ts';
import { until } from './until.ts';

const signal = new AbortController().signal;
const BACK_OFF_MS = 10_000;

/** What the runtimes do differently. */
const EXPECTED = {
  missing: {
    containerd: /never/,
    containerd2:
      /^failed to mount image volume: ImageVolumeMountFailed: failed to ensure image subpath "none" in .*: no such file or directory$/,
    embedded: /^ImageVolumeMountFailed: config\.mounts\[0\]\.image_sub_path: the image has no "none"$/,
  }[TEST_RUNTIME],
  // containerd 2 does not set the flag.
  execution: TEST_RUNTIME === 'embedded' ? /Permission denied/ : /^executed$/,
};

suite('image volumes', { skip: registrySkipReason(), timeout: 900_000 }, () => {
  const host = createLinuxHost(process.env);
  let it: TestAgent;
  let registry: TestRegistry;
  let inside: ContainerAccess;
  let cri: CriConnection;

  before(async () => {
    [it, registry] = await Promise.all([startTestAgent(), startRegistry()]);
    trustRegistry(it.runtime.folder, registry.address);
    inside = accessContainers(it, signal);
    cri = connectCri(it.runtime.endpoint, { clock: host.clock, runtimeRequestTimeoutMs: 120_000 });
  });
  after(async () => {
    inside?.close();
    cri?.close();
    await it?.stop();
    await registry?.stop();
  });

  const main = (...mounts: readonly Partial<VolumeMount>[]): Container => ({
    ...shell('main', EXITS_ON_SIGTERM),
    volumeMounts: mounts.map((mount) => ({ name: 'model', mountPath: '/model', ...mount })),
  });
  const volumePod = (name: string, reference: string, container: Container, spec: Partial<Pod['spec']> = {}): Pod =>
    podOf(name, {
      dnsPolicy: 'Default',
      containers: [container],
      volumes: [{ name: 'model', image: { reference } }],
      ...spec,
    });
  const start = async (pod: Pod): Promise<void> => {
    const ready = it.ready(pod.metadata.name);
    it.source.set(pod);
    await ready;
  };
  const remove = async (name: string): Promise<void> => {
    const gone = it.gone(name);
    it.source.set();
    await gone;
  };
  const waitsFor = (pod: Pod, reason: string): Promise<string> => {
    const { name } = pod.metadata;
    it.source.set(pod);
    return until(() => {
      const status = it.agent.pods().find((report) => report.pod.metadata.name === name)?.status;
      const waiting = status?.containerStatuses?.[0]?.state?.waiting;
      return waiting?.reason === reason ? (waiting.message ?? '') : undefined;
    });
  };
  const mountsOfRuntime = async (): Promise<readonly string[]> =>
    (await host.mounts.list()).map(({ target }) => target).filter((target) => target.startsWith(it.runtime.folder));
  const imageId = async (image: string): Promise<string | undefined> => {
    const answer = await cri.images.imageStatus({ image: ImageSpec.create({ image }), verbose: false }, signal);
    return answer.image?.id;
  };

  test('a runtime that would ignore the image is not asked to mount it', { skip: ONLY_ON_CONTAINERD }, async () => {
    const { runtimeVersion } = await cri.runtime.version({ version: '' }, signal);
    const reference = await registry.push('team/refused');
    const message = await waitsFor(volumePod('refused', reference, main({})), 'CreateContainerConfigError');
    const reason = `image volumes need containerd 2.1 or newer, the runtime is containerd ${runtimeVersion}`;
    assert.equal(message, `cannot mount image volume "model": ${reason}`);
    assert.equal(await imageId(reference), undefined, 'it is not pulled either');
    await remove('refused');
  });

  test('a container reads an image, or a directory of it, and changes nothing', {
    skip: NOT_ON_CONTAINERD,
  }, async () => {
    const before = await mountsOfRuntime();
    const reference = await registry.push('team/model');
    await start(volumePod('reads', reference, main({}, { mountPath: '/part', subPath: 'etc' })));
    const ask = (line: string): Promise<string> => inside.ask('reads', 'main', line);
    assert.equal(await ask('cat /model/etc/image /part/image'), `${reference}${reference}`);
    assert.match(await ask('touch /model/new'), /Read-only file system/);
    assert.match(await ask('touch /part/new'), /Read-only file system/);
    assert.match(await ask('/model/bin/true && echo executed'), EXPECTED.execution);
    const { events } = it.report('reads');
    const ofPod = events.filter(({ fieldPath }) => fieldPath === undefined).map(({ reason }) => reason);
    assert.deepEqual(ofPod.slice(-2), ['Pulling', 'Pulled']);

    await it.runtime.restart();
    assert.equal(await ask('cat /part/image'), reference);
    await remove('reads');
    // containerd unmounts the images of a pod when its sandbox is removed.
    await until(async () => (await mountsOfRuntime()).length === before.length);
  });

  test('a container waits for an image that cannot be pulled', { skip: NOT_ON_CONTAINERD }, async () => {
    const reference = await registry.push('team/late');
    await registry.pause();
    const message = await waitsFor(volumePod('late', reference, main({})), 'ImagePullBackOff');
    assert.ok(message.startsWith(`Back-off pulling image "${reference}": ErrImagePull: `), message);
    await registry.resume();
    const ready = it.ready('late');
    it.clock.leap(BACK_OFF_MS);
    await ready;
    assert.equal(await inside.ask('late', 'main', 'cat /model/etc/image'), reference);
    await remove('late');
  });

  test('many containers of a pod mount one image', { skip: NOT_ON_CONTAINERD }, async () => {
    const reference = await registry.push('team/shared');
    const containers = Array.from({ length: 6 }, (_, index) => ({ ...main({}), name: `main-${index}` }));
    await start(volumePod('many', reference, main({}), { containers }));
    const warnings = it.report('many').events.filter(({ type }) => type === 'Warning');
    assert.deepEqual(
      warnings.map(({ message }) => message),
      [],
    );
    for (const { name } of containers) assert.equal(await inside.ask('many', name, 'cat /model/etc/image'), reference);
    await remove('many');
  });

  test('a directory that the image does not have is an error of the container', {
    skip: NOT_ON_CONTAINERD,
  }, async () => {
    const reference = await registry.push('team/part');
    const pod = volumePod('missing', reference, main({ subPath: 'none' }));
    assert.match(await waitsFor(pod, 'CreateContainerError'), EXPECTED.missing);
    await remove('missing');
  });

  test('image GC keeps a mounted image; a removed one stays readable', { skip: NOT_ON_CONTAINERD }, async () => {
    const reference = await registry.push('team/kept');
    await start(volumePod('keeps', reference, main({})));
    const { fs, clock } = host;
    const policy = { highPercent: 1, lowPercent: 0, minimumAgeMs: 0, maximumAgeMs: 0 };
    const parts = { cri, fs, clock, log: silentLog, policy, keptImages: [BUSYBOX_IMAGE], recordNodeEvent: () => {} };
    const collect = () => new ImageCollector(parts).collect(clock.monotonic(), signal);
    await assert.rejects(collect(), /Insufficient free disk space/);
    const id = await imageId(reference);
    assert.ok(id !== undefined);

    await cri.images.removeImage({ image: ImageSpec.create({ image: id }) }, signal);
    assert.equal(await imageId(reference), undefined);
    assert.equal(
      await inside.ask('keeps', 'main', 'cat /model/etc/image; /bin/ls /model/bin/busybox'),
      [reference, '/model/bin/busybox'].join(''),
    );
    await remove('keeps');

    // The next pod pulls it again.
    await start(volumePod('again', reference, main({})));
    assert.equal(await inside.ask('again', 'main', 'cat /model/etc/image'), reference);
    await remove('again');
    await assert.rejects(collect(), /Insufficient free disk space/);
    assert.equal(await imageId(reference), undefined);
  });

  test('a container of a user namespace reads files of its root', { skip: NOT_ON_CONTAINERD }, async (t) => {
    const { runtimeHandlers } = await cri.runtime.status({ verbose: false }, signal);
    if (!runtimeHandlers.find(({ name }) => name === '')?.features?.userNamespaces) return t.skip('no user namespaces');
    const reference = await registry.push('team/users');
    await start(volumePod('users', reference, main({}), { hostUsers: false }));
    assert.equal(
      await inside.ask('users', 'main', 'stat -c %u:%g /model/etc/image; cat /proc/self/uid_map | wc -l'),
      '0:0\n1',
    );
    assert.match(await inside.ask('users', 'main', 'cat /proc/self/uid_map'), /^\s*0\s+[1-9]/);
    await remove('users');
  });
});
