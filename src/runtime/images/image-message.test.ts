import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageMessage } from './image-message.ts';
import type { StoredImage } from './image-store.ts';

const none = { uid: undefined, username: '' };
const uid = (value: bigint) => ({ uid: { value }, username: '' });
const username = (name: string) => ({ uid: undefined, username: name });

const cases: Record<string, ReturnType<typeof uid> | ReturnType<typeof username>> = {
  '': none,
  ':5': none,
  '0': uid(0n),
  '00': uid(0n),
  '+0': uid(0n),
  '-0': uid(0n),
  '1000': uid(1000n),
  '1000:0': uid(1000n),
  '2147483647': uid(2_147_483_647n),
  // Beyond the kernel's limit: kubelet never accepts a user name as non-root.
  '2147483648': username('2147483648'),
  '4294967295': username('4294967295'),
  '4294967296': username('4294967296'),
  '4294967296:1000': username('4294967296'),
  '999999999999999999': username('999999999999999999'),
  '9999999999999999999999': username('9999999999999999999999'),
  '-1': username('-1'),
  ' ': username(' '),
  ' 1000': username(' 1000'),
  '1000 ': username('1000 '),
  'name:group': username('name'),
};

for (const [user, expected] of Object.entries(cases)) {
  test(`imageMessage(): USER ${JSON.stringify(user)}`, () => {
    const message = imageMessage(imageOf(user));
    assert.deepEqual({ uid: message.uid, username: message.username }, expected);
  });
}

function imageOf(user: string): StoredImage {
  const config = { user, env: [], entrypoint: [], cmd: [], workingDir: '', stopSignal: '', volumes: [], labels: {} };
  return {
    id: 'sha256:1',
    repoTags: [],
    repoDigests: [],
    sizeBytes: 1,
    config,
    pinned: false,
  } as unknown as StoredImage;
}
