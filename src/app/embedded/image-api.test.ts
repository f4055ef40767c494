import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CriError } from '../../cri/cri-error.ts';
import { createMemoryHost } from '../../host/fake/memory-host.ts';
import type { PullProgress } from '../../runtime/images/image-puller.ts';
import { fakeImageOperations } from './fake/fake-image-operations.ts';
import { imageClient, serveImages } from './image-api.ts';
import type { ImageOperations } from './image-operations.ts';

const never = new AbortController().signal;
const NAMED = { name: 'localhost/a:1', id: 'sha256:1' };
const SOCKET = '/run/nodelet/runtime.sock';
const RESOLVED: PullProgress = {
  kind: 'resolved',
  digest: 'sha256:9',
  source: 'https://registry.example/v2',
  layers: [{ digest: 'sha256:5', sizeBytes: 100 }],
};
const coming = (receivedBytes: number): PullProgress => ({
  kind: 'layer',
  digest: 'sha256:5',
  state: { phase: 'coming', receivedBytes },
});

/** Client and server on one in-memory machine. */
async function joined(operations: Partial<ImageOperations>) {
  const host = createMemoryHost();
  await host.fs.makeDirectory('/run/nodelet');
  const server = await serveImages(host, SOCKET, Promise.resolve(fakeImageOperations(operations)), {
    pid: 42,
    use: 'agent',
  });
  return { host, server, images: imageClient(host.network, SOCKET) };
}

const bytes = (...texts: string[]) =>
  (async function* () {
    for (const text of texts) yield new TextEncoder().encode(text);
  })();

async function textOf(archive: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(archive)).toString();
}

test('imageClient() sends a request to imageApi() and returns its answer', async () => {
  const asked: unknown[] = [];
  const { images } = await joined({
    async tag(request) {
      asked.push(request);
      return NAMED;
    },
  });
  assert.deepEqual(await images.tag({ image: 'a', name: 'b' }, never), NAMED);
  assert.deepEqual(asked, [{ image: 'a', name: 'b' }]);
});

const ERROR = new CriError('InvalidArgument', 'app.tar is no image archive');
const expected = { name: 'CriError', code: 'InvalidArgument', message: 'app.tar is no image archive' };

const operations: Record<string, (images: ImageOperations) => Promise<unknown>> = {
  tag: (images) => images.tag({ image: 'a', name: 'b' }, never),
  'load of a file': (images) => images.load({ path: '/app.tar' }, never),
  'load of a stream': (images) => images.load({ bytes: bytes('x') }, never),
  pull: (images) => images.pull({ image: 'a' }, never),
  save: (images) => textOf(images.save({ images: ['a'] }, never)),
};

for (const [what, ask] of Object.entries(operations)) {
  test(`imageClient() rejects as the operation did: ${what}`, async () => {
    const fail = () => Promise.reject(ERROR);
    const save = (): AsyncIterable<Uint8Array> => ({ [Symbol.asyncIterator]: () => ({ next: fail }) });
    const { images } = await joined({ tag: fail, load: fail, pull: fail, save });
    await assert.rejects(ask(images), expected);
  });
}

test('imageApi() responds 404 to other requests', async () => {
  const { host } = await joined({});
  for (const [method, path] of [
    ['GET', '/v1/images/list'],
    ['POST', '/v1/images/eat'],
    ['POST', '/list'],
  ] as const) {
    const response = await host.network.request({ target: { socketPath: SOCKET }, method, path }, never);
    assert.equal(response.status, 404);
  }
});

test('imageClient() reports the progress of a pull', async () => {
  const seen: PullProgress[] = [];
  const { host, images } = await joined({
    async pull(request, signal, watch) {
      assert.deepEqual(request, { image: 'a', auth: { username: 'u' } });
      watch?.(RESOLVED);
      watch?.(coming(10));
      await host.clock.sleep(150, signal);
      watch?.(coming(60));
      await host.clock.sleep(1000, signal);
      watch?.({ kind: 'layer', digest: 'sha256:5', state: { phase: 'done' } });
      return NAMED;
    },
  });
  const auth = { username: 'u' } as Parameters<ImageOperations['pull']>[0]['auth']; // only the relevant field
  const pulled = images.pull({ image: 'a', auth }, never, (progress) => seen.push(progress));
  assert.deepEqual(await host.clock.runUntil(pulled), NAMED);
  const done = { kind: 'layer', digest: 'sha256:5', state: { phase: 'done' } };
  assert.deepEqual(seen, [RESOLVED, coming(10), coming(60), done]);
});

test('imageClient() receives only the latest progress, ten times a second', async () => {
  const seen: number[] = [];
  const { host, images } = await joined({
    async pull(_, signal, watch) {
      for (let received = 1; received <= 1000; received++) {
        watch?.(coming(received));
        await host.clock.sleep(1, signal);
      }
      return NAMED;
    },
  });
  const pulled = images.pull({ image: 'a' }, never, (progress) => {
    if (progress.kind === 'layer' && progress.state.phase === 'coming') seen.push(progress.state.receivedBytes);
  });
  await host.clock.runUntil(pulled);
  assert.ok(seen.length <= 12, `${seen.length} times`);
  assert.equal(seen.at(-1), 1000);
});

test('imageClient() distinguishes a broken connection from a failed pull', async () => {
  const begun = Promise.withResolvers<void>();
  const { host, images } = await joined({
    async pull(_, signal, watch) {
      watch?.(RESOLVED);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const pulled = images.pull({ image: 'a' }, never, () => begun.resolve());
  await begun.promise;
  host.network.killServers();
  await assert.rejects(pulled, { code: 'Unavailable', message: 'the runtime ended before the pull did' });
});

test('imageApi() aborts a pull when its client is gone', async () => {
  const [begun, gone] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { images } = await joined({
    pull(_, signal, watch) {
      signal.addEventListener('abort', () => gone.resolve());
      watch?.(RESOLVED);
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const leave = new AbortController();
  const pulled = images.pull({ image: 'a' }, leave.signal, () => begun.resolve());
  await begun.promise;
  leave.abort(new Error('enough'));
  await assert.rejects(pulled, { message: 'enough' });
  await gone.promise;
});

test('imageClient() streams an archive chunk by chunk', async () => {
  const { images } = await joined({
    async load(archive) {
      assert.ok('bytes' in archive);
      return [{ name: await textOf(archive.bytes), id: 'sha256:1' }];
    },
  });
  const loaded = await images.load({ bytes: bytes('one ', 'two') }, never);
  assert.deepEqual(loaded, [{ name: 'one two', id: 'sha256:1' }]);
});

test('imageApi() detects a broken stream, and the client gets the cause', async () => {
  const seen = Promise.withResolvers<unknown>();
  const { images } = await joined({
    async load(archive) {
      assert.ok('bytes' in archive);
      try {
        await textOf(archive.bytes);
      } catch (error) {
        seen.resolve(error);
        throw error;
      }
      return [];
    },
  });
  async function* broken() {
    yield new Uint8Array(10);
    throw new Error('standard input: EIO');
  }
  await assert.rejects(images.load({ bytes: broken() }, never), { message: 'standard input: EIO' });
  assert.match(String(await seen.promise), /NetworkError/);
});

test('imageClient() reads an archive piece by piece, with back-pressure', async () => {
  const made: string[] = [];
  const { images } = await joined({
    async *save({ images: asked }) {
      for (const name of asked) {
        made.push(name);
        yield new TextEncoder().encode(name);
      }
      yield new Uint8Array();
    },
  });
  const pieces = images.save({ images: ['a', 'b', 'c'] }, never)[Symbol.asyncIterator]();
  await pieces.next();
  assert.ok(made.length <= 2, 'nothing is made ahead of who reads');
  assert.equal(await textOf({ [Symbol.asyncIterator]: () => pieces }), 'bc');
});

test('an archive that fails half-way is not complete, and has the error', async () => {
  const { images } = await joined({
    async *save() {
      yield new Uint8Array(10);
      throw new CriError('DataLoss', 'a file of layer sha256:5 was changed');
    },
  });
  await assert.rejects(textOf(images.save({ images: ['a'] }, never)), {
    code: 'DataLoss',
    message: 'a file of layer sha256:5 was changed',
  });
});

test('an archive with a broken connection is not complete', async () => {
  const { host, images } = await joined({
    async *save() {
      yield new Uint8Array(10);
      await new Promise(() => {});
    },
  });
  const pieces = images.save({ images: ['a'] }, never)[Symbol.asyncIterator]();
  await pieces.next();
  const rest = pieces.next();
  host.network.killServers();
  await assert.rejects(rest, { code: 'Unavailable', message: 'the runtime ended before the archive did' });
});

test('imageApi() stops writing an archive when its client is gone', async () => {
  const [gone, left] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const { images } = await joined({
    async *save(_, signal) {
      signal.addEventListener('abort', () => gone.resolve());
      try {
        for (;;) yield new Uint8Array(1000);
      } finally {
        left.resolve();
      }
    },
  });
  for await (const _ of images.save({ images: ['a'] }, never)) break;
  await Promise.all([gone.promise, left.promise]);
});
