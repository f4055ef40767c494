import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '../../base/log.ts';
import { Image, PodSandboxStatusResponse } from '../../cri/generated/runtime-v1.ts';
import { VirtualClock } from '../../host/fake/virtual-clock.ts';
import { RuntimeImageNames } from './image-names.ts';

const never = new AbortController().signal;

function setUp(info: string | Error = '{"image":"pause:1","pid":7}') {
  const asked: string[] = [];
  const names = new RuntimeImageNames({
    images: {
      listImages: async () => {
        asked.push('images');
        return {
          images: [
            Image.create({ id: 'sha256:1', repoTags: ['a:1', 'b:1'] }),
            Image.create({ id: 'sha256:2', repoDigests: ['c@sha256:9'] }),
          ],
        };
      },
    },
    runtime: {
      podSandboxStatus: async ({ podSandboxId }) => {
        asked.push(podSandboxId);
        if (info instanceof Error) throw info;
        return PodSandboxStatusResponse.create({ info: { info } });
      },
    },
    clock: new VirtualClock(),
    log: silentLog,
  });
  const of = (imageIds: readonly string[], sandboxIds: readonly string[]) =>
    names.of({ imageIds: new Set(imageIds), sandboxIds: new Set(sandboxIds) }, never);
  return { asked, of };
}

test('names of images are asked for once, also of those without a name', async () => {
  const { asked, of } = setUp();
  const ids = ['sha256:1', 'sha256:2', 'sha256:gone'];
  const { images, sandboxes } = await of(ids, ['s1']);
  assert.deepEqual(
    [...images],
    [
      ['sha256:1', 'a:1'],
      ['sha256:2', 'c@sha256:9'],
      ['sha256:gone', ''],
    ],
  );
  assert.deepEqual([...sandboxes], [['s1', 'pause:1']]);
  await of(ids, ['s1']);
  assert.deepEqual(asked, ['images', 's1']);
});

test('names of what is gone are forgotten', async () => {
  const { of } = setUp();
  await of(['sha256:1'], ['s1']);
  const { images, sandboxes } = await of([], []);
  assert.deepEqual([images.size, sandboxes.size], [0, 0]);
});

for (const [name, info] of Object.entries({ 'no image': '{}', 'no JSON': 'x', nothing: '' }))
  test(`a sandbox whose runtime reports ${name} has an empty image`, async () => {
    const { sandboxes } = await setUp(info).of([], ['s1']);
    assert.deepEqual([...sandboxes], [['s1', '']]);
  });

test('a sandbox that cannot be asked about is asked about again', async () => {
  const { asked, of } = setUp(new Error('unavailable'));
  assert.equal((await of([], ['s1'])).sandboxes.size, 0);
  await of([], ['s1']);
  assert.deepEqual(asked, ['s1', 's1']);
});
