import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NamePage } from './name-page.ts';

test('NamePage keeps the first names after a given one, and reports whether these are all', async () => {
  const names = Array.from({ length: 100 }, (_, index) => String((index * 37) % 100).padStart(2, '0'));
  const first = async (after: string | undefined, most: number) => {
    const page = new NamePage(after, most);
    for (const name of names) page.add({ name, isFolder: false });
    const { entries, isAll } = await page.sorted();
    return [
      entries
        .toReversed()
        .map(({ name }) => name)
        .join(' '),
      isAll,
    ];
  };
  assert.deepEqual(await first(undefined, 3), ['00 01 02', false]);
  assert.deepEqual(await first('02', 4), ['03 04 05 06', false]);
  assert.deepEqual(await first('96', 3), ['97 98 99', true]);
  assert.deepEqual(await first('99', 3), ['', true]);
});
