/** `nodelet cri` is killed during a pull, at 50 points; the next process keeps complete layers and removes everything else. */
import assert from 'node:assert/strict';
import { watch } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type CriConnection, connectCri } from '../../src/cri/client.ts';
import { ImageStatusRequest, PullImageRequest } from '../../src/cri/generated/runtime-v1.ts';
import { linuxClock } from '../../src/host/linux/process/linux-clock.ts';
import { chainIds, digestOf, hexOf } from '../../src/runtime/storage/digest.ts';
import { type EmbeddedTestRuntime, embeddedSkipReason, startEmbedded } from './runtime-fixture.ts';
import { type ServedImage, StallingRegistry, type StallPoint, servedImage } from './stalling-registry.ts';
import { until } from './until.ts';

const LAYERS = 4;
const signal = new AbortController().signal;

type Point =
  | ({ readonly kind: 'silence' } & StallPoint)
  /** The n-th change in a storage directory. */
  | { readonly kind: 'change'; readonly folder: 'layers/overlay' | 'images' | 'unfinished'; readonly count: number };

const silences: readonly Point[] = (['manifest', 'config', 0, 1, 2, 3] as const).flatMap((what) =>
  (typeof what === 'string' ? [0, 0.5] : [0, 0.3, 0.7, 0.999, 1]).map(
    (share) => ({ kind: 'silence', what, share }) as const,
  ),
);
const changes: readonly Point[] = [
  ...Array.from(
    { length: 16 },
    (_, index) => ({ kind: 'change', folder: 'layers/overlay', count: index + 1 }) as const,
  ),
  ...Array.from({ length: 3 }, (_, index) => ({ kind: 'change', folder: 'images', count: index + 1 }) as const),
  ...Array.from({ length: 7 }, (_, index) => ({ kind: 'change', folder: 'unfinished', count: 1 + index * 3 }) as const),
];
const points: readonly Point[] = [...silences, ...changes];

/** The number of layers that are committed before the process is killed: those below the unfinished one. */
function layersBelow(point: Point): number {
  return point.kind === 'silence' && typeof point.what === 'number' && point.share > 0.9 ? point.what : 0;
}

describe('a pull that is killed', { skip: embeddedSkipReason() }, () => {
  let runtime: EmbeddedTestRuntime;
  let registry: StallingRegistry;
  let cri: CriConnection;
  let storage: string;

  before(async () => {
    [runtime, registry] = await Promise.all([startEmbedded(), StallingRegistry.start()]);
    cri = connectCri(runtime.endpoint, { clock: linuxClock, runtimeRequestTimeoutMs: 30_000 });
    storage = join(runtime.folder, 'root/runtime/storage');
  });

  after(async () => {
    cri.close();
    await registry.stop();
    await runtime.stop();
  });

  const pull = (number: number): Promise<unknown> => {
    const image = { image: `${registry.address}/crash:${number}` };
    return cri.images.pullImage(PullImageRequest.fromPartial({ image }), signal);
  };

  const folderOf = async (point: Point & { kind: 'change' }): Promise<string> => {
    if (point.folder !== 'unfinished') return join(storage, point.folder);
    const [current, ...others] = await until(async () => {
      const processes = await readdir(join(storage, 'unfinished'));
      return processes.length === 1 ? processes : undefined; // those of previous processes are swept
    });
    assert.deepEqual(others, []);
    return join(storage, 'unfinished', current ?? '');
  };

  /** Resolves when the point is reached. */
  const reach = async (point: Point, image: ServedImage): Promise<{ readonly reached: Promise<void> }> => {
    if (point.kind === 'silence') return { reached: registry.serve(image, point) };
    void registry.serve(image);
    const watcher = watch(await folderOf(point));
    let seen = 0;
    const reached = new Promise<void>((resolve) => {
      watcher.on('change', () => {
        if (++seen === point.count) resolve();
      });
    });
    return { reached: reached.finally(() => watcher.close()) };
  };

  /** The chain ids of committed layers. */
  const placed = async (image: ServedImage): Promise<readonly number[]> => {
    const names = new Set(await readdir(join(storage, 'layers/overlay')));
    return chainIds(image.diffIds).flatMap((chainId, index) => (names.has(hexOf(chainId)) ? [index] : []));
  };

  const assertWhole = async (number: number, image: ServedImage): Promise<void> => {
    const chain = chainIds(image.diffIds).map(hexOf);
    const layers = join(storage, 'layers/overlay');
    const texts = await Promise.all(chain.map((hex) => readFile(join(layers, hex, 'name'), 'utf8')));
    assert.deepEqual(texts, image.texts);
    const name = `${registry.address}/crash:${number}`;
    const { image: stored } = await cri.images.imageStatus(
      ImageStatusRequest.fromPartial({ image: { image: name } }),
      signal,
    );
    assert.deepEqual([stored?.id, stored?.repoTags], [digestOf(image.config), [name]]);
  };

  /** Everything in the storage belongs to an existing layer or image. */
  const left = async (): Promise<readonly string[] | undefined> => {
    const [layers, images, processes] = await Promise.all(
      ['layers/overlay', 'images', 'unfinished'].map((folder) => readdir(join(storage, folder))),
    );
    const [current, ...older] = processes ?? [];
    const unfinished = current === undefined ? [] : await readdir(join(storage, 'unfinished', current));
    const whole = new Set(layers?.filter((name) => /^[0-9a-f]{64}$/.test(name)));
    const odd = (layers ?? []).filter(
      (name) => name !== 'empty' && !whole.has(name.replace(/\.(json|tar-frame)$/, '')),
    );
    const found = [
      ...odd,
      ...(images ?? []).filter((name) => !/^[0-9a-f]{64}\.json$/.test(name)),
      ...older,
      ...unfinished,
    ];
    return found.length === 0 ? found : undefined;
  };

  for (const [number, point] of points.entries()) {
    const { kind, ...rest } = point;
    test(`at point ${number + 1}: ${kind} ${Object.values(rest).join(' ')}`, async () => {
      const image = await servedImage(number, LAYERS);
      const { reached } = await reach(point, image);
      let isOver = false;
      const pulled = pull(number)
        .catch(() => {})
        .finally(() => {
          isOver = true;
        });
      await Promise.race([reached, pulled]);
      const below = layersBelow(point);
      await until(async () => (isOver || (await placed(image)).length >= below ? true : undefined));
      process.kill(runtime.pid(), 'SIGKILL');
      await pulled;
      const before = await placed(image);
      await runtime.restart();
      void registry.serve(image);
      await pull(number);
      const again = new Set(registry.asked);
      const twice = before.filter((index) => again.has(digestOf(image.layers[index] ?? '')));
      assert.deepEqual(twice, [], 'whole layers come once');
      await assertWhole(number, image);
      assert.deepEqual(await until(left), []);
    });
  }
});
