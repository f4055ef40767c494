/** The contract of `PodObjects`, for an API server and for manifests. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ConfigMap, Pod, PodSpec, Secret } from '../../api/generated/core-v1.ts';
import { silentLog } from '../../base/log.ts';
import { SeededRandom } from '../../host/fake/seeded-random.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { createMemoryApiServer } from '../api-client/fake/memory-api-server.ts';
import { ClusterObjects } from './cluster-objects.ts';
import { ManifestObjects } from './manifest-objects.ts';
import type { PodObjects } from './pod-objects.ts';

const LIFE = new AbortController().signal;

interface ObjectsWorld {
  readonly objects: PodObjects;
  /** UIDs in the order in which they were woken. */
  readonly woken: string[];
  /** Creates or updates an object. */
  put(kind: 'configmap' | 'secret', name: string, data: Readonly<Record<string, string>>): Promise<void>;
  remove(kind: 'configmap' | 'secret', name: string): Promise<void>;
  /** Lets all pending work complete. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

function clusterWorld(): ObjectsWorld {
  const clock = new VirtualClock();
  const random = new SeededRandom(1);
  const api = createMemoryApiServer({ clock, random });
  const life = new AbortController();
  const woken: string[] = [];
  const objects = new ClusterObjects(
    { api, clock, random, log: silentLog, onChange: (uid) => woken.push(uid) },
    life.signal,
  );
  const key = (kind: string, name: string) =>
    ({ resource: kind === 'secret' ? 'secrets' : 'configmaps', namespace: 'default', name }) as const;
  return {
    objects,
    woken,
    async put(kind, name, data) {
      const object = { metadata: { name, namespace: 'default' }, data };
      const exists = await api.direct.get(key(kind, name), LIFE).then(
        () => true,
        () => false,
      );
      if (exists) await api.direct.patch(key(kind, name), { data }, {}, LIFE);
      else await api.direct.create(key(kind, name), object, LIFE);
    },
    remove: (kind, name) => api.direct.delete(key(kind, name), {}, LIFE),
    settle: () => clock.advance(0),
    async stop() {
      life.abort();
      await clock.advance(0);
      assert.equal(api.watches, 0);
    },
  };
}

function manifestWorld(): ObjectsWorld {
  const woken: string[] = [];
  const objects = new ManifestObjects({ onChange: (uid) => woken.push(uid) });
  const all = { configmap: new Map<string, ConfigMap>(), secret: new Map<string, Secret>() };
  const publish = async (): Promise<void> =>
    objects.set('file', {
      configMaps: [...all.configmap.values()],
      secrets: [...all.secret.values()],
      runtimeClasses: [],
      claims: [],
      volumes: [],
    });
  void publish();
  return {
    objects,
    woken,
    put(kind, name, data) {
      all[kind].set(name, { metadata: { name, namespace: 'default' }, data });
      return publish();
    },
    remove(kind, name) {
      all[kind].delete(name);
      return publish();
    },
    settle: async () => undefined,
    stop: async () => undefined,
  };
}

const worlds: Record<string, () => ObjectsWorld> = { cluster: clusterWorld, manifest: manifestWorld };

function podWith(uid: string, spec: Partial<PodSpec>): Pod {
  return { metadata: { name: uid, namespace: 'default', uid }, spec: { containers: [], ...spec } };
}

const usesConfigMap = (name: string): Partial<PodSpec> => ({ volumes: [{ name: 'v', configMap: { name } }] });
const usesSecret = (secretName: string): Partial<PodSpec> => ({ volumes: [{ name: 'v', secret: { secretName } }] });

for (const [name, makeWorld] of Object.entries(worlds)) {
  const contract = (what: string, work: (it: ObjectsWorld) => Promise<void>): void => {
    test(`${name} objects: ${what}`, async () => {
      const it = makeWorld();
      await work(it);
      await it.stop();
    });
  };
  const dataOf = async (it: ObjectsWorld, kind: 'configmap' | 'secret', object: string) => {
    const asked =
      kind === 'secret' ? it.objects.secret('default', object, LIFE) : it.objects.configMap('default', object, LIFE);
    const [answer] = await Promise.allSettled([asked, it.settle()]);
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value.data;
  };

  contract('are found whether or not a pod is followed', async (it) => {
    await it.put('configmap', 'settings', { color: 'red' });
    await it.put('secret', 'login', { user: 'bWU=' });
    assert.deepEqual(await dataOf(it, 'configmap', 'settings'), { color: 'red' });
    it.objects.follow(podWith('a', usesConfigMap('settings')));
    assert.deepEqual(await dataOf(it, 'configmap', 'settings'), { color: 'red' });
    assert.deepEqual(await dataOf(it, 'secret', 'login'), { user: 'bWU=' });
  });

  contract('that are missing are reported with kubelet’s message', async (it) => {
    const missing = (kind: string) => ({ name: 'ObjectError', message: `${kind} "absent" not found`, isMissing: true });
    await assert.rejects(dataOf(it, 'configmap', 'absent'), missing('configmap'));
    it.objects.follow(podWith('a', usesSecret('absent')));
    await assert.rejects(dataOf(it, 'secret', 'absent'), missing('secret'));
    await it.put('configmap', 'elsewhere', {});
    await assert.rejects(it.objects.configMap('other', 'elsewhere', LIFE), { isMissing: true });
  });

  contract('wake exactly the pods that refer to them when they appear, change and disappear', async (it) => {
    it.objects.follow(podWith('a', usesConfigMap('settings')));
    it.objects.follow(podWith('b', usesConfigMap('settings')));
    it.objects.follow(podWith('c', usesSecret('settings')));
    await it.settle();
    const wokenBy = async (happen: () => Promise<void>): Promise<string[]> => {
      it.woken.length = 0;
      await happen();
      await it.settle();
      return it.woken;
    };
    assert.deepEqual(await wokenBy(() => it.put('configmap', 'settings', { color: 'red' })), ['a', 'b']);
    assert.deepEqual(await wokenBy(() => it.put('configmap', 'settings', { color: 'blue' })), ['a', 'b']);
    assert.deepEqual(await wokenBy(() => it.put('configmap', 'other', {})), []);
    assert.deepEqual(await wokenBy(() => it.put('secret', 'settings', {})), ['c']);
    assert.deepEqual(await wokenBy(() => it.remove('configmap', 'settings')), ['a', 'b']);
    await assert.rejects(dataOf(it, 'configmap', 'settings'), { isMissing: true });
  });

  contract('that were returned are immutable', async (it) => {
    it.objects.follow(podWith('a', usesConfigMap('settings')));
    await it.put('configmap', 'settings', { color: 'red' });
    await it.settle();
    const before = await dataOf(it, 'configmap', 'settings');
    await it.put('configmap', 'settings', { color: 'blue' });
    await it.settle();
    assert.deepEqual(before, { color: 'red' });
    assert.deepEqual(await dataOf(it, 'configmap', 'settings'), { color: 'blue' });
  });

  contract('wake no pod that is forgotten, or whose new version does not refer to them', async (it) => {
    it.objects.follow(podWith('a', usesConfigMap('settings')));
    it.objects.follow(podWith('b', usesConfigMap('settings')));
    it.objects.follow(podWith('b', usesConfigMap('other')));
    await it.settle();
    it.objects.forget('a');
    it.objects.forget('unknown');
    it.woken.length = 0;
    await it.put('configmap', 'settings', { color: 'red' });
    await it.put('configmap', 'other', { color: 'red' });
    await it.settle();
    assert.deepEqual(it.woken, ['b']);
  });
}
