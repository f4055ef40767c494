import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bridgeName, DEFAULT_ROOT_DIR } from './bridge-name.ts';

test('bridgeName() is plain for the default folder and unique elsewhere', () => {
  assert.deepEqual(
    [bridgeName(DEFAULT_ROOT_DIR), bridgeName('/srv/a'), bridgeName('/srv/b')],
    ['nodelet0', 'nl-b068a6cef8', 'nl-6294551d7d'],
  );
});
