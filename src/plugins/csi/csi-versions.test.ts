import assert from 'node:assert/strict';
import { test } from 'node:test';
import { highestSupportedVersion, isLower, versionText } from './csi-versions.ts';

const supported: readonly (readonly [versions: readonly string[], highest: string])[] = [
  [['1.0.0'], '1.0.0'],
  [['v1.2.3', '1.10.0', '1.9'], '1.10.0'],
  [['0.3.0', '1.0'], '1.0'],
  [['2.0.0', '1.4.0', '3.0'], '1.4.0'],
  [['nonsense', ' v1.1-rc.1+build'], '1.1'],
  [['1.0', '1.0.0'], '1.0.0'],
];

for (const [versions, highest] of supported) {
  test(`highestSupportedVersion() of ${versions} is ${highest}`, () => {
    assert.equal(versionText(highestSupportedVersion(versions)), highest);
  });
}

const NONE = 'could not find a highest supported version from versions';
const refused: readonly (readonly [versions: readonly string[], message: string])[] = [
  [['0.3.0', '0.2'], 'highest supported version reported is 0.3.0, must be v1.x'],
  [['2.0.0'], `${NONE} ([2.0.0]) reported: <nil>`],
  [['2.0.0', 'x"y'], `${NONE} ([2.0.0 x"y]) reported: could not parse "x\\"y" as version`],
  [['1'], `${NONE} ([1]) reported: illegal version string "1"`],
  [['01.0', '2.0'], `${NONE} ([01.0 2.0]) reported: illegal zero-prefixed version component "01" in "01.0"`],
  [
    ['1.99999999999999999999'],
    `${NONE} ([1.99999999999999999999]) reported: illegal non-numeric version component "99999999999999999999" in "1.99999999999999999999": strconv.ParseUint: parsing "99999999999999999999": value out of range`,
  ],
];

for (const [versions, message] of refused) {
  test(`highestSupportedVersion() refuses ${versions}`, () => {
    assert.throws(() => highestSupportedVersion(versions), { message });
  });
}

test('isLower() compares number by number; missing ones are zero', () => {
  assert.ok(isLower([1n, 9n], [1n, 10n]));
  assert.ok(isLower([1n], [1n, 0n, 1n]));
  assert.ok(!isLower([1n, 0n, 0n], [1n]));
  assert.ok(!isLower([1n, 1n], [1n, 0n, 9n]));
});
