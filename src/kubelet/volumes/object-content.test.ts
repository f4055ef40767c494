import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import test from 'node:test';
import { configMapContent, type KeySelection, secretContent } from './object-content.ts';
import type { VolumeContent } from './volume-content.ts';

const configMap = {
  metadata: { name: 'settings' },
  data: { 'app.conf': 'a=1', empty: '' },
  binaryData: { blob: Buffer.from([0, 255]).toString('base64') },
};
const secret = { metadata: { name: 'login' }, data: { password: Buffer.from('hush').toString('base64') } };

/** `latin1` shows every byte. */
function shown(content: VolumeContent): Record<string, readonly [string, number]> {
  const entries = [...content].map(([path, { data, mode }]) => [path, [Buffer.from(data).toString('latin1'), mode]]);
  return Object.fromEntries(entries);
}

const cases: Record<string, { selection: KeySelection; files?: object; fault?: string }> = {
  'every key without a selection': {
    selection: {},
    files: { 'app.conf': ['a=1', 0o644], empty: ['', 0o644], blob: ['\u0000\u00ff', 0o644] },
  },
  'the selected keys, with their paths and modes': {
    selection: {
      items: [
        { key: 'app.conf', path: 'etc/app/app.conf', mode: 0o400 },
        { key: 'blob', path: 'blob.bin' },
      ],
    },
    files: { 'etc/app/app.conf': ['a=1', 0o400], 'blob.bin': ['\u0000\u00ff', 0o644] },
  },
  'no missing key': {
    selection: { items: [{ key: 'nope', path: 'nope' }] },
    fault: 'configmap references non-existent config key: nope',
  },
  'no key of the object prototype': {
    selection: { items: [{ key: 'constructor', path: 'x' }] },
    fault: 'configmap references non-existent config key: constructor',
  },
  'the existing keys, if it is optional': {
    selection: {
      optional: true,
      items: [
        { key: 'nope', path: 'nope' },
        { key: 'empty', path: 'e' },
      ],
    },
    files: { e: ['', 0o644] },
  },
};

for (const [what, { selection, files, fault }] of Object.entries(cases)) {
  test(`configMapContent() has ${what}`, () => {
    const content = (): object => shown(configMapContent(configMap, selection, 0o644));
    if (fault === undefined) assert.deepEqual(content(), files);
    else assert.throws(content, { message: fault });
  });
}

test('secretContent() has the decoded values', () => {
  assert.deepEqual(shown(secretContent(secret, {}, 0o600)), { password: ['hush', 0o600] });
  const items = [{ key: 'nope', path: 'nope' }];
  assert.throws(() => secretContent(secret, { items }, 0o600), { message: 'references non-existent secret key: nope' });
  assert.deepEqual(shown(secretContent({ metadata: { name: 'none' } }, { items, optional: true }, 0o600)), {});
});

test('configMapContent() has ten thousand keys', () => {
  const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`key-${index}`, String(index)]));
  assert.equal(configMapContent({ metadata: { name: 'many' }, data }, {}, 0o644).size, 10_000);
});
