import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ImageSpec, ListImagesRequest } from '../../../src/cri/generated/runtime-v1.ts';
import { runPod, type Subject, signal } from './subject.ts';

export function imageContract(subjectOf: () => Subject): void {
  const images = () => subjectOf().cri.images;
  const spec = (image: string) => ImageSpec.fromPartial({ image });
  const status = async (image: string) =>
    (await images().imageStatus({ image: spec(image), verbose: false }, signal)).image;

  test('a present image is found by name and by id', async () => {
    const found = await status(subjectOf().image);
    assert.ok(found);
    assert.match(found.id, /^sha256:[0-9a-f]{64}$/);
    assert.deepEqual(found.repoTags, [subjectOf().image]);
    assert.ok(found.size > 0n);
    assert.deepEqual(await status(found.id), found);
  });

  test('the status of a missing image is empty, not an error', async () => {
    assert.equal(await status('localhost/unknown:1'), undefined);
    await images().removeImage({ image: spec('localhost/unknown:1') }, signal);
  });

  test('a list contains the present image', async () => {
    const all = (await images().listImages(ListImagesRequest.create(), signal)).images;
    assert.ok(all.some(({ repoTags }) => repoTags.includes(subjectOf().image)));
  });

  test('a failed pull reports its error', async () => {
    const { unpullable, errors } = subjectOf();
    const pull = (name: string) =>
      images().pullImage({ image: spec(name), auth: undefined, sandboxConfig: undefined }, signal);
    await assert.rejects(pull(unpullable), errors.pullFails(unpullable));
    await assert.rejects(pull('UPPER//case'), errors.pullInvalidReference);
  });

  test('a container requires its image', async (t) => {
    const pod = await runPod(subjectOf());
    t.after(pod.remove);
    const { unknownImage } = subjectOf().errors;
    await assert.rejects(pod.create('succeeds', { image: spec('localhost/unknown:1') }), unknownImage);
  });

  test('ImageFsInfo reports the mount point of images', async () => {
    const { imageFilesystems } = await images().imageFsInfo({}, signal);
    assert.match(imageFilesystems[0]?.fsId?.mountpoint ?? '', /^\//);
  });
}
