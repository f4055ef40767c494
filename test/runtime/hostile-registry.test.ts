/**
 * Malicious registries: 1,000 of them, in memory. A pull ends with the true image or with an error, in bounded time and
 * memory; credentials are sent to no other host; after an error nothing is recorded.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { silentLog } from '../../src/base/log.ts';
import { CriError } from '../../src/cri/cri-error.ts';
import { AuthConfig } from '../../src/cri/generated/runtime-v1.ts';
import { createMemoryHost } from '../../src/host/fake/memory-host.ts';
import type { VirtualClock } from '../../src/host/fake/virtual-clock.ts';
import type { HttpPool, HttpRequest } from '../../src/host/network.ts';
import { buildConfig, buildLayer } from '../../src/runtime/images/fake/image-archives.ts';
import { createRegistryPuller } from '../../src/runtime/images/pull/registry-puller.ts';
import { openStorage } from '../../src/runtime/open-storage.ts';
import { digestOf } from '../../src/runtime/storage/digest.ts';
import { corruptAnswer, type HostileAnswer, hostileAnswer, sentBy, type Taken } from './hostile-answers.ts';

const SEED = 20_260;
const RUNS = 1000;
const PASSWORD = 'word-that-stays-secret';
const SECRETS = [PASSWORD, Buffer.from(`me:${PASSWORD}`).toString('base64'), 'key-of-the-mirror', 'identity-of-us'];
const MAX_SMALL_BYTES = 8 * 1024 * 1024;
const MAX_REQUESTS = 3000;

const layer = await buildLayer({ 'etc/hello': 'hello', 'bin/run': 'x'.repeat(3000) });
const config = buildConfig({ layers: [layer] });
const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value));
const described = (data: Uint8Array, mediaType: string): object => ({
  mediaType: `application/vnd.oci.image.${mediaType}`,
  digest: digestOf(data),
  size: data.length,
});
const manifest = encode({
  schemaVersion: 2,
  config: described(config, 'config.v1+json'),
  layers: [described(layer, 'layer.v1.tar')],
});
const index = encode({
  schemaVersion: 2,
  manifests: [{ ...described(manifest, 'manifest.v1+json'), platform: { os: 'linux', architecture: 'amd64' } }],
});
const TRUE = new Map([
  ['/v2/app/manifests/1', index],
  ...[manifest, index].map((data) => [`/v2/app/manifests/${digestOf(data)}`, data] as const),
  ...[config, layer].map((data) => [`/v2/app/blobs/${digestOf(data)}`, data] as const),
  ['/token', encode({ token: 'token-of-the-registry' })],
]);

function truth({ path }: HttpRequest) {
  const data = TRUE.get(path.replace(/\?.*$/, ''));
  return data ? { status: 200, data } : { status: 404, data: encode({ errors: [{ code: 'NAME_UNKNOWN' }] }) };
}

/** Secrets may be sent to the two hosts and the authorization server; never in plain text. */
function checkSecrets(request: HttpRequest): void {
  const { host, scheme, text } = sentBy(request);
  const isSecret = /Authorization/.test(text) || SECRETS.some((secret) => text.includes(secret));
  if (!isSecret) return;
  assert.ok(['x.io', 'mirror.example', 'auth.example'].includes(host), `shown to ${host}`);
  assert.equal(scheme, 'https');
  assert.ok(host === 'mirror.example' || !text.includes('key-of-the-mirror'), `the key is shown to ${host}`);
  assert.doesNotMatch(text, /X-Evil/);
}

interface Attempt {
  readonly answers: readonly HostileAnswer[];
  readonly auth: Partial<AuthConfig>;
  readonly hasMirror: boolean;
}

const attempt: fc.Arbitrary<Attempt> = fc.record({
  answers: fc.array(hostileAnswer, { minLength: 1, maxLength: 12 }),
  auth: fc.constantFrom<Partial<AuthConfig>>(
    {},
    { username: 'me', password: PASSWORD },
    { identityToken: 'identity-of-us' },
  ),
  hasMirror: fc.boolean(),
});

async function pullFrom({ answers, auth, hasMirror }: Attempt): Promise<'in' | 'rejected'> {
  const host = createMemoryHost();
  const { fs, clock } = host;
  const storage = await openStorage({
    ...host,
    log: silentLog,
    paths: { storage: '/storage' },
    settings: { pinnedImages: [] },
    architecture: 'amd64',
  });
  if (hasMirror) {
    await fs.makeDirectory('/certs.d/x.io');
    const text = '[host."https://mirror.example"]\n[host."https://mirror.example".header]\nX-Key = "key-of-the-mirror"';
    await fs.writeFile('/certs.d/x.io/hosts.toml', text);
  }
  const taken: Taken = { most: 0 };
  const leaks: unknown[] = [];
  let [count, pools] = [0, 0];
  const pool = (): HttpPool => {
    pools++;
    return {
      request: async (request, until) => {
        try {
          checkSecrets(request);
        } catch (error) {
          leaks.push(error);
        }
        const hostile = answers[count++];
        return corruptAnswer(truth(request), hostile ?? HONEST, taken, until);
      },
      [Symbol.dispose]: () => {
        pools--;
      },
    };
  };
  const puller = createRegistryPuller({
    network: { lookup: async (name) => [name], pool },
    fs,
    clock,
    ingest: storage.ingest,
    architecture: 'amd64',
    settings: { registryConfigDirs: ['/certs.d'] },
    env: {},
    log: silentLog,
  });
  const reported: string[] = [];
  const outcome = await inVirtualTime(
    clock,
    puller
      .pull('x.io/app:1', AuthConfig.fromPartial(auth), new AbortController().signal, (each) => {
        reported.push(JSON.stringify(each));
      })
      .then(
        () => 'in' as const,
        (error: unknown) => error,
      ),
  );
  assert.deepEqual(leaks, []);
  assert.equal(pools, 0);
  assert.ok(count <= MAX_REQUESTS, `${count} requests`);
  assert.ok(taken.most <= MAX_SMALL_BYTES + 2 * 64 * 1024, `${taken.most} bytes of one answer`);
  const images = storage.images.list().map(({ id }) => id);
  if (outcome !== 'in') {
    if (!(outcome instanceof CriError)) throw outcome;
    assert.ok(outcome.message.length < 10_000);
    reported.push(outcome.message);
  }
  assert.ok(SECRETS.every((secret) => !reported.join().includes(secret)));
  assert.deepEqual(images, outcome === 'in' ? [digestOf(config)] : []);
  await storage.sweep();
  await storage.settled();
  for (const { name } of await fs.readDirectory('/storage/unfinished')) {
    assert.deepEqual(await fs.readDirectory(`/storage/unfinished/${name}`), []);
  }
  return outcome === 'in' ? 'in' : 'rejected';
}

/** Unpacking takes real time, in which the virtual clock may advance: that must not cause time-outs. */
async function inVirtualTime<T>(clock: VirtualClock, work: Promise<T>): Promise<T> {
  let isOver = false;
  const settled = work.finally(() => {
    isOver = true;
  });
  while (!isOver) await clock.advance(10_000);
  return settled;
}

/** The answer after the generated ones are used up. */
const HONEST: HostileAnswer = { failure: 'none', code: '', status: undefined, headers: {}, body: { kind: 'true' } };

test(`${RUNS} hostile registries: the true image or an error, and no secret is leaked`, async () => {
  const outcomes = { in: 0, rejected: 0 };
  await fc.assert(
    fc.asyncProperty(attempt, async (each) => {
      outcomes[await pullFrom(each)]++;
    }),
    { numRuns: RUNS, seed: SEED },
  );
  // Otherwise the answers would be too harmless, or too broken to get anywhere.
  assert.ok(outcomes.in > RUNS / 20 && outcomes.rejected > RUNS / 20, JSON.stringify(outcomes));
});
