import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeviceCheckpoint, decodeCheckpoint, encodeCheckpoint } from './checkpoint.ts';

/** Texts that kubelet's package `devicemanager/checkpoint` wrote. */
const EMPTY = '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":3467439661}';
const NO_MAP = '{"Data":{"PodDeviceEntries":[],"RegisteredDevices":null},"Checksum":3252601439}';
const NO_DEVICES =
  '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"a.com/b":null,"example.com/gpu":[]}},"Checksum":933076039}';
const FULL =
  '{"Data":{"PodDeviceEntries":[{"PodUID":"uid-1","ContainerName":"c","ResourceName":"example.com/gpu","DeviceIDs":{"-1":["x\\u003c\\u0026\\u003e\\u2028ü y"],"0":["dev-1","dev-2"],"10":["d"],"2":[],"3":null},"AllocResp":"CgUA/w=="},{"PodUID":"uid-2","ContainerName":"d","ResourceName":"r.io/x","DeviceIDs":null,"AllocResp":null},{"PodUID":"uid-2","ContainerName":"e","ResourceName":"r.io/x","DeviceIDs":{},"AllocResp":""}],"RegisteredDevices":{"a.com/b":["z"],"example.com/gpu":["dev-1","dev-2"]}},"Checksum":3388019966}';

const ONE: DeviceCheckpoint = {
  entries: [
    {
      podUid: 'uid-1',
      containerName: 'c',
      resourceName: 'example.com/gpu',
      devices: new Map([
        [-1, ['<x>']],
        [10, ['b']],
        [2, ['a', 'c']],
      ]),
      response: new Uint8Array([10, 5, 0, 255]),
    },
  ],
  registered: new Map([
    ['example.com/gpu', ['a', 'b', 'c', '<x>']],
    ['a.com/b', []],
  ]),
};

test('a node without devices has kubelet’s text', () => {
  assert.equal(encodeCheckpoint({ entries: [], registered: new Map() }), EMPTY);
});

test('kubelet’s texts are read with their checksums, whatever is nil or empty in them', () => {
  assert.deepEqual(decodeCheckpoint(EMPTY), { entries: [], registered: new Map() });
  assert.deepEqual(decodeCheckpoint(NO_MAP), { entries: [], registered: new Map() });
  assert.deepEqual(
    [...decodeCheckpoint(NO_DEVICES).registered],
    [
      ['a.com/b', []],
      ['example.com/gpu', []],
    ],
  );
  const { entries, registered } = decodeCheckpoint(FULL);
  assert.deepEqual(registered.get('example.com/gpu'), ['dev-1', 'dev-2']);
  assert.equal(entries.length, 3);
  assert.deepEqual(
    [...(entries[0]?.devices ?? [])].toSorted(([one], [other]) => one - other),
    [
      [-1, ['x<&>\u2028ü y']],
      [0, ['dev-1', 'dev-2']],
      [2, []],
      [3, []],
      [10, ['d']],
    ],
  );
  assert.deepEqual(entries[0]?.response, new Uint8Array([10, 5, 0, 255]));
});

test('what is written is read back', () => {
  assert.deepEqual(decodeCheckpoint(encodeCheckpoint(ONE)), {
    ...ONE,
    registered: new Map([...ONE.registered].toReversed()),
  });
});

for (const [name, text] of Object.entries({
  'a truncated file': FULL.slice(0, 200),
  'an empty file': '',
  'a file with another checksum': FULL.replace('3388019966', '3388019967'),
  'a file with another device': FULL.replace('"dev-2"]}', '"dev-3"]}'),
  'a file without a checksum': '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}}}',
  'a list': '[]',
  'a file of another type': '{"Data":{"PodDeviceEntries":{},"RegisteredDevices":{}},"Checksum":3467439661}',
  'NUMA nodes that are not numbers': FULL.replace('"10":', '"ten":'),
})) {
  test(`${name} is not accepted`, () => {
    assert.throws(() => decodeCheckpoint(text), Error);
  });
}
