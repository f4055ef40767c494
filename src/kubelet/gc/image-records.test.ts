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
  'records when an image is first seen': { listed: [image('a')], after: [record('a', { firstSeenMs: NOW })] },
  'keeps the time when an image was first seen': { before: [record('a')], listed: [image('a')], after: [record('a')] },
  'records that an image is in use': {
    before: [record('a')],
    listed: [image('a')],
    used: ['a'],
    after: [record('a', { lastUsedMs: NOW })],
  },
  'keeps the time of the last use': {
    before: [record('a', { lastUsedMs: NOW - MINUTE })],
    listed: [image('a')],
    after: [record('a', { lastUsedMs: NOW - MINUTE })],
  },
  'forgets an image that is gone': { before: [record('a')], listed: [], after: [] },
  'updates size and pin from the runtime': {
    before: [record('a')],
    listed: [image('a', { size: 20n, pinned: true })],
    after: [record('a', { sizeBytes: 20n, pinned: true })],
  },
};

for (const [name, { before = [], listed, used = [], after }] of Object.entries(looks)) {
  test(`updateImageRecords() ${name}`, () => {
    assert.deepEqual(updateImageRecords(byId(...before), listed, new Set(used), NOW), byId(...after));
  });
}

const orders: Record<string, { records: ImageRecord[]; inUse?: string[]; ids: string[] }> = {
  'omits images in use': { records: [record('a'), record('b')], inUse: ['a'], ids: ['b'] },
  'omits pinned images': { records: [record('a', { pinned: true }), record('b')], ids: ['b'] },
  'starts with the least recently used image': {
    records: [record('late', { lastUsedMs: NOW - 1 }), record('early', { lastUsedMs: NOW - 2 })],
    ids: ['early', 'late'],
  },
  'puts never used images first': {
    records: [record('used', { lastUsedMs: 0 }), record('never')],
    ids: ['never', 'used'],
  },
  'puts the older of two equally used images first': {
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
