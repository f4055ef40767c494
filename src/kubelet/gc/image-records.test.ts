import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Image } from '../../cri/generated/runtime-v1.ts';
import { type ImageRecord, unusedImages, updateImageRecords } from './image-records.ts';

const NOW = 1_000_000;
const MINUTE = 60_000;

function image(id: string, more: Partial<Image> = {}): Image {
  return Image.fromPartial({ id, size: 10n, ...more });
}

function record(id: string, more: Partial<ImageRecord> = {}): ImageRecord {
  return {
    id,
    sizeBytes: 10n,
    pinned: false,
    firstSeenMs: NOW - MINUTE,
    lastUsedMs: undefined,
    ...more,
  };
}

function byId(...records: ImageRecord[]): ReadonlyMap<string, ImageRecord> {
  return new Map(records.map((each) => [each.id, each]));
}

const looks: Record<string, { before?: ImageRecord[]; listed: Image[]; used?: string[]; after: ImageRecord[] }> = {
  'sees a new image for the first time': { listed: [image('a')], after: [record('a', { firstSeenMs: NOW })] },
  'remembers since when it knows an image': { before: [record('a')], listed: [image('a')], after: [record('a')] },
  'notes that an image is in use': {
    before: [record('a')],
    listed: [image('a')],
    used: ['a'],
    after: [record('a', { lastUsedMs: NOW })],
  },
  'remembers when an image was last in use': {
    before: [record('a', { lastUsedMs: NOW - MINUTE })],
    listed: [image('a')],
    after: [record('a', { lastUsedMs: NOW - MINUTE })],
  },
  'forgets an image that is gone': { before: [record('a')], listed: [], after: [] },
  'takes size and pin from the runtime': {
    before: [record('a')],
    listed: [image('a', { size: 20n, pinned: true })],
    after: [record('a', { sizeBytes: 20n, pinned: true })],
  },
};

for (const [name, { before = [], listed, used = [], after }] of Object.entries(looks)) {
  test(`noteImages() ${name}`, () => {
    assert.deepEqual(updateImageRecords(byId(...before), listed, new Set(used), NOW), byId(...after));
  });
}

const orders: Record<string, { records: ImageRecord[]; inUse?: string[]; ids: string[] }> = {
  'leaves out what is in use': { records: [record('a'), record('b')], inUse: ['a'], ids: ['b'] },
  'leaves out what is pinned': { records: [record('a', { pinned: true }), record('b')], ids: ['b'] },
  'begins with what was not used for longest': {
    records: [record('late', { lastUsedMs: NOW - 1 }), record('early', { lastUsedMs: NOW - 2 })],
    ids: ['early', 'late'],
  },
  'puts what was never used before everything else': {
    records: [record('used', { lastUsedMs: 0 }), record('never')],
    ids: ['never', 'used'],
  },
  'puts the older one of two that were used at the same time first': {
    records: [record('new', { firstSeenMs: NOW - 1 }), record('old', { firstSeenMs: NOW - 2 })],
    ids: ['old', 'new'],
  },
};

for (const [name, { records, inUse = [], ids }] of Object.entries(orders)) {
  test(`unusedImages() ${name}`, () => {
    const unused = unusedImages(byId(...records), new Set(inUse));
    assert.deepEqual(
      unused.map(({ id }) => id),
      ids,
    );
  });
}
