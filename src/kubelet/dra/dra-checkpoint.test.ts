import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { decodeClaims, encodeClaims } from './dra-checkpoint.ts';
import { KUBELET_CLAIMS, KUBELET_NEW_CLAIMS, KUBELET_NO_CLAIMS } from './kubelet-dra-state.fixture.ts';

const NO_REQUESTS = { requestNames: [], cdiDeviceIds: [] };
const CLAIMS = [
  {
    uid: 'uid-1',
    name: 'gpu',
    namespace: 'default',
    podUids: new Set(['pod-b', 'pod-a']),
    devices: new Map([
      ['nic.example.com', []],
      [
        'gpu.example.com',
        [
          {
            poolName: 'box',
            deviceName: 'gpu-0',
            shareId: '5c7a1b9e-0000-4000-8000-000000000001',
            requestNames: ['big', 'small'],
            cdiDeviceIds: ['example.com/gpu=0', 'example.com/gpu=<all>&\u2028'],
          },
          { poolName: 'box', deviceName: 'gpu-1', ...NO_REQUESTS },
        ],
      ],
    ]),
  },
  { uid: 'uid-2', name: 'none', namespace: 'kube-system', podUids: new Set<string>(), devices: new Map() },
];

const CORRUPT = {
  'an empty file': ['', /^unexpected end of JSON input$/],
  'a truncated file': [KUBELET_CLAIMS.slice(0, -20), /^unexpected end of JSON input$/],
  'a changed text': [KUBELET_CLAIMS.replace('pod-a', 'pod-c'), /^checkpoint is corrupted$/],
  'the file of kubelet 1.30': [
    '{"version":"v1","entries":[{"DriverName":"a"}],"checksum":1925941526}',
    /^checkpoint is corrupted$/,
  ],
  'a list': ['[]', /^not a JSON object$/],
  'data of another kind': ['{"Data":"[]","Checksum":223132457}', /^not a JSON object$/],
} as const;

suite('the checkpoint of claims', () => {
  test('is written as kubelet does', () => {
    assert.equal(encodeClaims(CLAIMS), KUBELET_CLAIMS);
    assert.equal(encodeClaims([]), KUBELET_NO_CLAIMS);
  });

  test("kubelet's is read", () => {
    assert.deepEqual(decodeClaims(KUBELET_CLAIMS), CLAIMS);
    assert.deepEqual(decodeClaims(KUBELET_NO_CLAIMS), []);
    assert.deepEqual(decodeClaims(KUBELET_NEW_CLAIMS), []);
  });

  for (const [what, [text, message]] of Object.entries(CORRUPT)) {
    test(`${what} is refused`, () => assert.throws(() => decodeClaims(text), { message }));
  }
});
