import assert from 'node:assert/strict';
import test from 'node:test';
import { mappingsText, parseMappings } from './mappings-file.ts';

const text =
  '{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}';

test('the mappings file is kubelet’s', () => {
  assert.equal(mappingsText({ first: 65_536, length: 65_536 }), text);
  assert.deepEqual(parseMappings(text), { first: 65_536, length: 65_536 });
});

const one = { hostId: 65_536, containerId: 0, length: 65_536 };
const other = { ...one, hostId: 131_072 };
const high = { ...one, containerId: 1 };
const rejected: Record<string, { uids: unknown; gids: unknown; why: string }> = {
  'two ranges': { uids: [one, other], gids: [one, other], why: 'no more than one mapping allowed.' },
  'no range': { uids: [], gids: [], why: 'no more than one mapping allowed.' },
  'users without groups': { uids: [one], gids: [], why: 'GID and UID mappings should be identical.' },
  'different users and groups': { uids: [one], gids: [other], why: 'GID and UID mapping should be identical' },
  'a namespace without root': { uids: [high], gids: [high], why: 'UID 0 must be mapped' },
};

for (const [name, { uids, gids, why }] of Object.entries(rejected)) {
  test(`parseMappings() rejects ${name}`, () => {
    const file = JSON.stringify({ uidMappings: uids, gidMappings: gids });
    assert.throws(() => parseMappings(file), { message: `invalid user namespace configuration: ${why}` });
  });
}

test('parseMappings() rejects text that is not JSON', () => {
  assert.throws(() => parseMappings('{'), { message: /^invalid user namespace mappings file: / });
});

for (const hostId of ['a', -1, 1.5, 2 ** 32, { toString: 1 }]) {
  test(`parseMappings() rejects the id ${JSON.stringify(hostId)}`, () => {
    const mapping = [{ ...one, hostId }];
    const file = JSON.stringify({ uidMappings: mapping, gidMappings: mapping });
    assert.throws(() => parseMappings(file), {
      message: 'invalid user namespace mappings file: hostId is not a 32-bit number',
    });
  });
}
