import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sizeText } from '../../base/size-text.ts';
import {
  checkDisk,
  type DiskCheck,
  diskCheckError,
  type ImagePolicy,
  isImageCollectionOff,
  isOldEnough,
  isTooOld,
} from './image-policy.ts';

const POLICY: ImagePolicy = { highPercent: 85, lowPercent: 80, minimumAgeMs: 120_000, maximumAgeMs: 0 };
const GIB = 2 ** 30;

const disks: Record<string, { capacity?: number; available: number; policy?: Partial<ImagePolicy>; check: DiskCheck }> =
  {
    'finds enough space below the high threshold': { available: 16, check: { kind: 'enough' } },
    'frees down to the low threshold from the high one': {
      available: 15,
      check: { kind: 'full', usedPercent: 85, bytesToFree: 5n },
    },
    'rounds available percent down': {
      capacity: 1000,
      available: 159,
      check: { kind: 'full', usedPercent: 85, bytesToFree: 41n },
    },
    'frees everything for a low threshold of zero': {
      available: 60,
      policy: { highPercent: 1, lowPercent: 0 },
      check: { kind: 'full', usedPercent: 40, bytesToFree: 40n },
    },
    'reports a disk without capacity': { capacity: 0, available: 0, check: { kind: 'noCapacity' } },
    'treats more available than capacity as an empty disk': { available: 200, check: { kind: 'enough' } },
    'frees nothing with a threshold of 100 while space is left': {
      available: 1,
      policy: { highPercent: 100 },
      check: { kind: 'enough' },
    },
  };

for (const [name, { capacity = 100, available, policy, check }] of Object.entries(disks)) {
  test(`checkDisk() ${name}`, () => {
    const disk = { capacityBytes: capacity, availableBytes: available };
    assert.deepEqual(checkDisk(disk, { ...POLICY, ...policy }), check);
  });
}

const FULL: DiskCheck = { kind: 'full', usedPercent: 91, bytesToFree: 500n };

test('diskCheckError() is undefined with enough space, or with enough freed', () => {
  assert.equal(diskCheckError({ kind: 'enough' }, 10 * GIB, 0n), undefined);
  assert.equal(diskCheckError(FULL, 10 * GIB, 500n), undefined);
});

test("diskCheckError() uses kubelet's messages", () => {
  assert.deepEqual(diskCheckError({ kind: 'noCapacity' }, 0, 0n), {
    reason: 'InvalidDiskCapacity',
    message: 'invalid capacity 0 on image filesystem',
  });
  assert.deepEqual(diskCheckError(FULL, 10 * GIB, 499n), {
    reason: 'FreeDiskSpaceFailed',
    message:
      "Insufficient free disk space on the node's image filesystem (91% of 10.0 GiB used). Failed to free sufficient space by deleting unused images (freed 499 bytes). Investigate disk usage, as it could be used by active images, logs, volumes, or other data.",
  });
});

const sizes: Record<string, number> = {
  '0 B': 0,
  '1023 B': 1023,
  '1.0 KiB': 1024,
  '1.5 MiB': 1.5 * 2 ** 20,
  '1024.0 MiB': 2 ** 30 - 1,
  '1.0 GiB': 2 ** 30,
  '2.0 TiB': 2 * 2 ** 40,
  '2048.0 TiB': 2 * 2 ** 50,
};

for (const [text, bytes] of Object.entries(sizes)) {
  test(`sizeText() of ${bytes} is ${text}`, () => assert.equal(sizeText(bytes), text));
}

const image = { id: 'a', sizeBytes: 1n, pinned: false, firstSeenMs: 0, lastUsedMs: undefined };
const byAge = { ...POLICY, minimumAgeMs: 0, maximumAgeMs: 1000 };

test('isTooOld() is true for an image unused for longer than the maximum age', () => {
  assert.equal(isTooOld({ ...image, lastUsedMs: 500 }, byAge, 0, 1500), false);
  assert.equal(isTooOld({ ...image, lastUsedMs: 499 }, byAge, 0, 1500), true);
});

test('isTooOld() is true for a never used image after collecting for that long', () => {
  assert.equal(isTooOld(image, byAge, 500, 1500), false);
  assert.equal(isTooOld(image, byAge, 499, 1500), true);
});

test('isTooOld() is false for a young image, which may be about to be used', () => {
  const policy = { ...byAge, minimumAgeMs: 100 };
  assert.equal(isTooOld({ ...image, firstSeenMs: 4901 }, policy, 0, 5000), false);
  assert.equal(isTooOld({ ...image, firstSeenMs: 4900 }, policy, 0, 5000), true);
});

test('isTooOld() is never true without a maximum age', () => {
  assert.equal(isTooOld(image, POLICY, 0, Number.MAX_SAFE_INTEGER), false);
});

test('isOldEnough() is true from the minimum age on', () => {
  assert.equal(isOldEnough(image, POLICY, 119_999), false);
  assert.equal(isOldEnough(image, POLICY, 120_000), true);
});

test('isImageCollectionOff() is true only when neither space nor age is a reason', () => {
  assert.equal(isImageCollectionOff({ ...POLICY, highPercent: 100 }), true);
  assert.equal(isImageCollectionOff({ ...byAge, highPercent: 100 }), false);
  assert.equal(isImageCollectionOff(POLICY), false);
});
