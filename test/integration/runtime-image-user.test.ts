/** An image cannot hide that it runs as root: neither from kubelet's runAsNonRoot check, nor behind a number. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ImageSpec } from '../../src/cri/generated/runtime-v1.ts';
import { busyboxImageWith, numericRootUserImage } from './numeric-root-user-image.ts';
import { embeddedSkipReason } from './runtime-fixture.ts';
import { type ContainerChange, type Scene, sceneAround, signal } from './runtime-pod.ts';

const NUMBERS = ['4294967296', '4294967295', '2147483648', '-1'];
const OUT_OF_RANGE = 'must be between 0 and 2147483647, inclusive';

const named = (user: string): string => `localhost/nodelet/user${user.replace('-', 'minus')}:1`;

describe('the user of an image', { skip: embeddedSkipReason() }, () => {
  let scene: Scene;
  sceneAround(async (made) => {
    scene = made;
    const { runtime } = scene;
    for (const user of NUMBERS) await runtime.load(await numericRootUserImage(runtime.folder, named(user), user));
    await runtime.load(await busyboxImageWith(runtime.folder, named('1000'), { User: '1000:0' }));
  });

  const statusOf = async (image: string) => {
    const spec = ImageSpec.create({ image });
    return (await scene.cri.images.imageStatus({ image: spec, verbose: false }, signal)).image;
  };

  for (const user of NUMBERS) {
    test(`USER ${user} that is a name of root in its account files`, async (t) => {
      const image = await statusOf(named(user));
      assert.deepEqual([image?.uid, image?.username], [undefined, user]);

      const pod = await scene.runPod();
      t.after(pod.remove);
      const security = (securityContext: NonNullable<ContainerChange['linux']>['securityContext']) => ({
        image: { image: named(user) },
        linux: { securityContext },
      });
      const asked: Record<string, [ContainerChange, string]> = {
        'by the image': [{ image: { image: named(user) } }, 'config.image: USER'],
        'by its number': [
          security({ runAsUser: { value: BigInt(user) } }),
          'config.linux.security_context.run_as_user',
        ],
        'by its name': [security({ runAsUsername: user }), 'config.linux.security_context.run_as_username'],
        'as a group': [
          security({ runAsUser: { value: 1000n }, runAsGroup: { value: BigInt(user) } }),
          'config.linux.security_context.run_as_group',
        ],
        'as a supplemental group': [
          security({ runAsUser: { value: 1000n }, supplementalGroups: [BigInt(user)] }),
          'config.linux.security_context.supplemental_groups[0]',
        ],
      };
      for (const [name, [change, field]] of Object.entries(asked)) {
        const expected = { code: 'InvalidArgument', message: `${field}: ${user}: ${OUT_OF_RANGE}` };
        await assert.rejects(pod.create('id', change), expected, name);
      }
      const other = await pod.startReady('id -u; echo ready; sleep 1000', security({ runAsUser: { value: 1000n } }));
      assert.deepEqual(await scene.logLines(other), ['1000', 'ready']);
    });
  }

  test('USER 1000:0 is that user', async (t) => {
    assert.deepEqual((await statusOf(named('1000')))?.uid, { value: 1000n });
    const pod = await scene.runPod();
    t.after(pod.remove);
    const id = await pod.startReady('echo $(id -u) $(id -g); echo ready; sleep 1000', {
      image: { image: named('1000') },
    });
    assert.deepEqual(await scene.logLines(id), ['1000 0', 'ready']);
  });

  test('a sandbox with a group out of range is rejected', async () => {
    const namespaceOptions = { pid: 0 as never };
    for (const securityContext of [
      { namespaceOptions, runAsUser: { value: 4_294_967_296n } },
      { namespaceOptions, runAsUser: { value: 1n }, runAsGroup: { value: -1n } },
      { namespaceOptions, supplementalGroups: [4_294_967_295n] },
    ]) {
      await assert.rejects(scene.runPod({ linux: { securityContext } }), {
        message: new RegExp(`linux\\.security_context\\.\\w+(\\[0\\])?: -?\\d+: ${OUT_OF_RANGE}`),
      });
    }
  });
});
