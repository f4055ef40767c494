import assert from 'node:assert/strict';
import test from 'node:test';
import { unsupportedImageVolume } from './image-volume-support.ts';

const WHOLE = {};
const PART = { subPath: 'a' };
const BY_VARIABLE = { subPathExpr: '$(POD_NAME)' };

const cases: readonly [
  runtimeName: string,
  runtimeVersion: string,
  mount: { readonly subPath?: string; readonly subPathExpr?: string },
  reason: string | undefined,
][] = [
  [
    'containerd',
    '1.6.20~ds1',
    WHOLE,
    'image volumes need containerd 2.1 or newer, the runtime is containerd 1.6.20~ds1',
  ],
  ['containerd', 'v1.7.27', PART, 'image volumes need containerd 2.1 or newer, the runtime is containerd v1.7.27'],
  ['containerd', 'v2.0.7', WHOLE, 'image volumes need containerd 2.1 or newer, the runtime is containerd v2.0.7'],
  ['containerd', 'v2.1.0', WHOLE, undefined],
  [
    'containerd',
    'v2.1.5',
    PART,
    'a subPath of an image volume needs containerd 2.2 or newer, the runtime is containerd v2.1.5',
  ],
  [
    'containerd',
    'v2.1.5',
    BY_VARIABLE,
    'a subPath of an image volume needs containerd 2.2 or newer, the runtime is containerd v2.1.5',
  ],
  ['containerd', 'v2.2.0', PART, undefined],
  ['containerd', 'v2.10.1', BY_VARIABLE, undefined],
  ['containerd', 'v3.0.0-beta.1', PART, undefined],
  ['containerd', 'unknown', WHOLE, undefined],
  ['cri-o', '1.30.0', WHOLE, undefined],
  ['nodelet', '0.1.0', PART, undefined],
];

for (const [runtimeName, runtimeVersion, mount, reason] of cases) {
  const name = `${runtimeName} ${runtimeVersion} with ${JSON.stringify(mount)}`;
  test(`unsupportedImageVolume() of ${name}: ${reason === undefined ? 'supported' : 'unsupported'}`, () => {
    assert.equal(unsupportedImageVolume({ runtimeName, runtimeVersion }, mount), reason);
  });
}
