/** Volumes inside a container on the real runtime: content, owners and modes, changes, subPaths. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { ConfigMap, Pod, Secret } from '../../src/api/generated/core-v1.ts';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { podOf } from '../agent/memory-agent.ts';
import { EXITS_ON_SIGTERM, shell, startTestAgent, type TestAgent } from './agent-fixture.ts';
import { runtimeSkipReason } from './runtime-fixture.ts';

const signal = new AbortController().signal;

type Inside = (line: string) => Promise<string>;

function configMap(name: string, data: Readonly<Record<string, string>>): ConfigMap {
  return { metadata: { name, namespace: 'default' }, data };
}

function secret(name: string, data: Readonly<Record<string, string>>): Secret {
  const encoded = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')]);
  return { metadata: { name, namespace: 'default' }, data: Object.fromEntries(encoded) };
}

suite('the volumes of a container', { skip: runtimeSkipReason(), timeout: 900_000 }, () => {
  let it: TestAgent;
  let cri: CriConnection;
  let folder = '';

  before(async () => {
    it = await startTestAgent();
    cri = connectCri(it.runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 120_000 });
    folder = it.runtime.folder;
  });
  after(async () => {
    cri.close();
    await it.stop();
  });

  const insideOf = (name: string): Inside => {
    const { containers } = it.report(name).observed ?? {};
    const containerId = containers?.find((each) => each.name === 'main' && each.state === 'running')?.id ?? '';
    return async (line) => {
      const answer = await cri.runtime.execSync({ containerId, cmd: ['sh', '-c', line], timeout: 120n }, signal);
      return Buffer.concat([answer.stdout, answer.stderr]).toString().trim();
    };
  };
  const run = async (pod: Pod): Promise<Inside> => {
    const { name } = pod.metadata;
    const ready = it.ready(name);
    it.source.set(pod);
    await ready;
    return insideOf(name);
  };
  const until = async (inside: Inside, line: string, expected: string): Promise<number> => {
    const startMs = performance.now();
    while ((await inside(line)) !== expected) {
      assert.ok(performance.now() - startMs < 180_000, `${line} does not become ${expected}`);
      await delay(5);
    }
    return performance.now() - startMs;
  };
  const mountsOf = (name: string): string[] =>
    readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(`${folder}/kubelet/pods/uid-${name}/`));
  const main = (extra: Partial<Pod['spec']['containers'][number]>) => [
    { ...shell('main', EXITS_ON_SIGTERM), ...extra },
  ];

  test('an unprivileged user reads files of the pod’s fsGroup', async () => {
    it.source.setObjects({
      configMaps: [configMap('settings', { 'app.conf': 'a=1', 'more.conf': 'b=2' })],
      secrets: [secret('login', { password: 'hush' })],
    });
    const me = { path: 'me/name', fieldRef: { fieldPath: 'metadata.name' } };
    const cpu = { path: 'cpu', resourceFieldRef: { containerName: 'main', resource: 'limits.cpu', divisor: '1m' } };
    const sources = [
      { configMap: { name: 'settings', items: [{ key: 'more.conf', path: 'etc/more.conf', mode: 0o400 }] } },
      { secret: { name: 'login' } },
      { downwardAPI: { items: [me, cpu] } },
    ];
    const pod = podOf('content', {
      securityContext: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 2000 },
      volumes: [
        { name: 'conf', configMap: { name: 'settings', defaultMode: 0o400 } },
        { name: 'sec', secret: { secretName: 'login', defaultMode: 0o600 } },
        { name: 'all', projected: { sources, defaultMode: 0o440 } },
      ],
      containers: main({
        resources: { limits: { cpu: '250m' } },
        volumeMounts: ['conf', 'sec', 'all'].map((name) => ({ name, mountPath: `/${name}` })),
      }),
    });
    const inside = await run(pod);
    assert.equal(await inside('cat /conf/app.conf /conf/more.conf'), 'a=1b=2');
    assert.equal(await inside('cat /sec/password; cat /all/etc/more.conf /all/me/name /all/cpu'), 'hushb=2content250');
    assert.equal(await inside('stat -L -c "%u %g %a" /conf/app.conf /sec/password'), '0 2000 440\n0 2000 640');
    assert.equal(await inside('stat -L -c "%u %g %a" /all/etc/more.conf /all/me/name'), '0 2000 440\n0 2000 440');
    assert.equal(await inside('readlink /conf/app.conf; readlink /all/etc'), '..data/app.conf\n..data/etc');
    assert.match(await inside('touch /conf/mine'), /Read-only file system/);
    assert.match(await inside('mount | grep " /sec "'), /^tmpfs .*\(ro/);
  });

  test('no other user reads files with mode 0400', async () => {
    const pod = podOf('private', {
      securityContext: { runAsUser: 1000, runAsGroup: 1000 },
      volumes: [{ name: 'sec', secret: { secretName: 'login', defaultMode: 0o400 } }],
      containers: main({ volumeMounts: [{ name: 'sec', mountPath: '/sec' }] }),
    });
    const inside = await run(pod);
    assert.match(await inside('cat /sec/password'), /Permission denied/);
  });

  test('changes of a ConfigMap and a Secret are visible in the running container', async (t) => {
    const objects = (text: string) =>
      it.source.setObjects({ configMaps: [configMap('live', { a: text })], secrets: [secret('live', { s: text })] });
    objects('1');
    const pod = podOf('changes', {
      volumes: [
        { name: 'conf', configMap: { name: 'live' } },
        { name: 'sec', secret: { secretName: 'live' } },
      ],
      containers: main({ volumeMounts: ['conf', 'sec'].map((name) => ({ name, mountPath: `/${name}` })) }),
    });
    const inside = await run(pod);
    assert.equal(await inside('cat /conf/a /sec/s'), '11');
    objects('2');
    const tookMs = await until(inside, 'cat /conf/a /sec/s', '22');
    t.diagnostic(`both changes were seen from inside after ${tookMs.toFixed(0)} ms`);
    const reported = it.next(
      (event) =>
        event.kind === 'event' && event.pod.metadata.name === 'changes' && event.event.reason === 'FailedMount',
      'the loss is reported',
    );
    it.source.setObjects({});
    await reported;
    assert.equal(await inside('cat /conf/a /sec/s'), '22');
    objects('3');
    await until(inside, 'cat /conf/a /sec/s', '33');
  });

  test('a container sees only its subPaths, which are removed at the end', async () => {
    it.source.setObjects({ configMaps: [configMap('settings', { 'app.conf': 'a=1' })] });
    const volumeMounts = [
      { name: 'disk', mountPath: '/disk', subPath: 'a/b' },
      { name: 'disk', mountPath: '/logs', subPathExpr: 'logs/$(POD)' },
      { name: 'disk', mountPath: '/all' },
      { name: 'conf', mountPath: '/etc/app.conf', subPath: 'app.conf' },
    ];
    const env = [{ name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }];
    const pod = podOf('places', {
      securityContext: { runAsUser: 1000, fsGroup: 2000 },
      volumes: [
        { name: 'disk', emptyDir: {} },
        { name: 'conf', configMap: { name: 'settings' } },
      ],
      containers: main({ env, volumeMounts }),
    });
    const inside = await run(pod);
    assert.equal(await inside('cat /etc/app.conf'), 'a=1');
    assert.equal(
      await inside('touch /disk/one /logs/two && cd /all && find a logs -type f'),
      'a/b/one\nlogs/places/two',
    );
    assert.equal(await inside('stat -c "%g %a" /disk /logs'), '2000 2777\n2000 2777');
    assert.match(await inside('touch /etc/app.conf'), /Read-only file system/);
    assert.equal(mountsOf('places').length, 3);

    const gone = it.gone('places');
    it.source.set();
    await gone;
    assert.deepEqual(mountsOf('places'), []);
  });

  const escapes: Record<string, string> = {
    'the root of the machine': '/',
    'a folder beside the volume': '../beside',
    'a link that leads out': 'second',
  };
  for (const [what, link] of Object.entries(escapes)) {
    test(`no symlink leads to ${what}`, async () => {
      const path = join(folder, `escape-${Object.keys(escapes).indexOf(what)}`, 'volume');
      mkdirSync(path, { recursive: true });
      mkdirSync(join(path, '../beside'));
      writeFileSync(join(path, '../beside/secret'), 'secret');
      symlinkSync(link, join(path, 'way'));
      symlinkSync('/etc', join(path, 'second'));
      const name = `escape-${Object.keys(escapes).indexOf(what)}`;
      const failed = it.next(
        (event) => event.kind === 'event' && event.pod.metadata.name === name && event.event.reason === 'Failed',
        `${name} rejected`,
      );
      it.source.set(
        podOf(name, {
          volumes: [{ name: 'host', hostPath: { path, type: 'Directory' } }],
          containers: main({ volumeMounts: [{ name: 'host', mountPath: '/x', subPath: 'way' }] }),
        }),
      );
      await failed;
      const message = it.report(name).events.find(({ reason }) => reason === 'Failed')?.message;
      assert.equal(message, 'Error: failed to prepare subPath for volumeMount "host" of container "main"');
    });
  }
});
