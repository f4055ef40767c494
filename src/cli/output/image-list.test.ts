import assert from 'node:assert/strict';
import { test } from 'node:test';
import { imageList } from './image-list.ts';

const id = (letter: string): string => `sha256:${letter.repeat(64)}`;
const DIGEST = id('d');

const IMAGES = [
  { id: id('c'), tags: [], digests: [], sizeBytes: 512, pinned: false },
  {
    id: id('b'),
    tags: ['localhost:5000/team/app:2', 'docker.io/library/busybox:1.36'],
    digests: [`docker.io/library/busybox@${DIGEST}`],
    sizeBytes: 2_152_262,
    pinned: true,
  },
  { id: id('a'), tags: [], digests: [`quay.io/team/db@${DIGEST}`], sizeBytes: 1_520_000_000, pinned: false },
];

const TABLE = { format: 'table', digests: false, whole: false } as const;

test('imageList() has a row for each name, those without one last', () => {
  assert.equal(
    imageList(IMAGES, TABLE),
    [
      'REPOSITORY                  TAG      IMAGE ID       SIZE',
      'docker.io/library/busybox   1.36     bbbbbbbbbbbb   2.2MB',
      'localhost:5000/team/app     2        bbbbbbbbbbbb   2.2MB',
      'quay.io/team/db             <none>   aaaaaaaaaaaa   1.52GB',
      '<none>                      <none>   cccccccccccc   512B',
      '',
    ].join('\n'),
  );
});

test('imageList() shows the digests of the names', () => {
  const rows = imageList(IMAGES, { ...TABLE, digests: true }).split('\n');
  const cells = rows.map((row) => row.split(/ {2,}/)[2]?.slice(0, 9));
  assert.deepEqual(cells, ['DIGEST', 'sha256:dd', '<none>', 'sha256:dd', '<none>', undefined]);
});

test('imageList() shows ids only, each once', () => {
  assert.equal(imageList(IMAGES, { ...TABLE, format: 'ids' }), 'bbbbbbbbbbbb\naaaaaaaaaaaa\ncccccccccccc\n');
});

test('imageList() shows whole ids', () => {
  const ids = imageList(IMAGES, { ...TABLE, format: 'ids', whole: true });
  assert.equal(ids, `${id('b')}\n${id('a')}\n${id('c')}\n`);
});

test('imageList() shows all that is known as JSON, in the same order', () => {
  const [none, busybox, db] = IMAGES;
  assert.deepEqual(JSON.parse(imageList(IMAGES, { ...TABLE, format: 'json' })), [busybox, db, none]);
});

test('imageList() of no image has its head alone, and nothing for programs', () => {
  assert.equal(imageList([], TABLE), 'REPOSITORY   TAG   IMAGE ID   SIZE\n');
  assert.equal(imageList([], { ...TABLE, format: 'ids' }), '');
  assert.equal(imageList([], { ...TABLE, format: 'json' }), '[]\n');
});
